import ConcurrencySupport
import Logging
import Processes
import Synchronization
import WireProtocol
import WorkerLifecycle

/// The processes of one child that were started ahead of need: each has its link already, and waits for a life.
///
/// ``SparePoolMachine`` decides; the pool carries out its directives.
final class SparePool: Sendable {
    private struct State: MachineState {
        var machine: SparePoolMachine
        var outbox = Outbox<SparePoolMachine.Directive>()
        /// The spares that have been launched and not taken.
        var spares: [SparePoolMachine.SpareID: Spare] = [:]
    }

    private struct Spare {
        let host: WorkerHost
        /// The build that the process runs; `nil`: it's unknown, or that of this process.
        let buildID: String?
    }

    private let program: WorkerProgram
    private let plan: WorkerPlan
    private let path: CoordinatorPath
    private let parent: CoordinatorCell
    private let state: MachineShell<State>
    /// The signal that spares have to wait for their turn no more.
    private let closing = OneShot<Void>()

    init(_ program: WorkerProgram, _ plan: WorkerPlan, path: CoordinatorPath, parent: CoordinatorCell) {
        self.program = program
        self.plan = plan
        self.path = path
        self.parent = parent
        state = MachineShell(State(machine: SparePoolMachine(target: plan.spares)))
    }

    /// Returns whether the pool's processes suit a child with this program and plan.
    func serves(_ program: WorkerProgram, _ plan: WorkerPlan) -> Bool { self.program == program && self.plan == plan }

    /// The time for which a life that has begun has the processors to itself, to answer the messages that have waited for it.
    private static let pause = Duration.milliseconds(20)

    /// Starts the missing processes, after a pause, and replaces those whose executable has been replaced.
    func fillSoon() {
        _ = usable()
        handle(.fillRequested(after: Self.pause))
    }

    /// Removes and returns a living spare: the one that has waited longest among those with a link, else among the others.
    func takeSpare() -> WorkerHost? {
        let idle = usable()
        guard let (id, host) = idle.first(where: { $0.1.isWaiting }) ?? idle.first(where: { $0.1.isAlive }) else { return nil }
        var isMine = false
        handle(.taken(id)) { state in
            isMine = state.machine.idle.contains(id)
            if isMine { state.spares[id] = nil }
        }
        return isMine ? host : takeSpare()
    }

    /// Returns the idle spares, without those that run another build than a process that is started now; these are replaced.
    private func usable() -> [(SparePoolMachine.SpareID, WorkerHost)] {
        let idle = state.withLock { state in state.machine.idle.compactMap { id in state.spares[id].map { (id, $0) } } }
        if idle.isEmpty { return [] }
        let buildID = buildID
        for (id, spare) in idle where spare.buildID != buildID { handle(.aged(id)) }
        return idle.filter { $0.1.buildID == buildID }.map { ($0.0, $0.1.host) }
    }

    /// The build that a process runs that is started now; `nil` if it's unknown, or that of this process.
    private var buildID: String? { (program.executable ?? parent.runtime.processes.spawner.defaultExecutable).flatMap(BuildID.of) }

    /// Ends all waiting spares, for good.
    ///
    /// The runtime's end waits until nothing is left of them.
    func end() {
        handle(.closeRequested)
        closing.settle(())
    }

    private func handle(_ event: SparePoolMachine.Event, _ change: (inout State) -> Void = { _ in }) {
        let counts = parent.runtime.observation.counts
        state.mutate { state in
            let former = state.machine.idle.count
            change(&state)
            state.outbox.add(state.machine.handle(event, now: MonotonicTime.now.sinceOrigin))
            counts.spares.add(state.machine.idle.count - former, ordering: .relaxed)
        } performing: {
            perform($0)
        }
    }

    private func perform(_ directive: SparePoolMachine.Directive) {
        let runtime = parent.runtime
        switch directive {
        case .takeTurn(let id):
            runtime.processes.spares.add { [self] in
                await runtime.processes.restartTokens.wait(orUntil: closing)
                handle(.turnCame(id))
            }
        case .launch(let id): runtime.processes.spares.add { await self.live(id) }
        case .discard(let id): state.withLock { $0.spares[id] }?.host.discard()
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed) }
        case .closed: state.cancelWake()
        }
    }

    /// Runs the whole life of one spare: from its process's spawn until nothing is left of it, whether it was taken or not.
    private func live(_ id: SparePoolMachine.SpareID) async {
        let host = WorkerHost(program, plan, path: path, parent: parent)
        let spare = Spare(host: host, buildID: buildID)
        state.withLock { $0.spares[id] = spare }
        do {
            try await host.launchSpare()
            handle(.launched(id))
        } catch {
            parent.runtime.observation.logger.warning(
                "a spare can't be started",
                metadata: ["coordinator.path": "\(path)", "error": "\(error)"]
            )
            host.discard()
            handle(.launchFailed(id))
        }
        let ageTimer = plan.recycling.nextAge.map { age in
            Timers.shared.schedule(at: .now + age) { [weak self] in self?.handle(.aged(id)) }
        }
        await host.gone.value
        if let ageTimer { Timers.shared.cancel(ageTimer) }
        handle(.ended(id)) { $0.spares[id] = nil }
    }
}

// MARK: - A life that is proposed to a process

/// A parent's question to a process that waits for a life: whether it could host this coordinator.
struct StartProposal: Sendable {
    static let operation = "propose"

    let typeName: String
    let configuration: JSONValue
    /// Whether the configuration has all fields, rather than those that differ from the type's defaults.
    let isComplete: Bool

    init(_ definition: CoordinatorDefinition) throws {
        let (codec, bytes, isComplete) = try definition.configuration.encoded(as: .json)
        typeName = definition.typeName
        configuration = try PayloadCoder.decode(JSONValue.self, from: bytes, codec: codec)
        self.isComplete = isComplete
    }

    /// Reads the question as it arrives; `nil` when the operation is another one.
    init?(_ operation: String, _ payload: JSONValue) {
        guard operation == Self.operation, case .string(let typeName) = payload["type"] else { return nil }
        self.typeName = typeName
        configuration = payload["configuration"] ?? .object([:])
        isComplete = payload["complete"] == .bool(true)
    }

    var payload: JSONValue { ["type": .string(typeName), "configuration": configuration, "complete": .bool(isComplete)] }

    /// Checks that the program knows the type, and can read the configuration.
    ///
    /// - Throws: `unknownType`, `coding`.
    func check(by registry: TypeRegistry) throws {
        let type = try registry.type(named: typeName)
        try type.check(.encoded(.json, try PayloadCoder.encode(configuration, as: .json), isComplete: isComplete))
    }
}

/// The processes that a new life may begin in.
///
/// They are handed over once, and are no part of what a life keeps: a host that kept itself would never be freed, nor its parent.
struct PreparedProcesses {
    var spares: SparePool?
    /// The process that was prepared for this life.
    var successor: WorkerHost?
}
