import ChaosHistory
import Coordinators
import Glibc
import Supervision

/// A coordinator that sends the leaves messages of all kinds, through the root or its parent.
actor SenderCoordinator: Inhabitant {
    struct Configuration: CoordinatorConfiguration {
        var number = 0
        /// The parent whose leaves get the messages; -1: all parents.
        var parent = -1
    }

    static let role = Record.Role.sender

    nonisolated let context: Context
    private var generator: SplitMix64
    private var number = 0
    private var open = 0

    init(_ context: Context) {
        self.context = context
        // Each life sends something else.
        generator = SplitMix64(seed: Recorder.plan.seed ^ UInt64(context.configuration.number) << 32 ^ UInt64(context.incarnation))
    }

    func start() { recordBegin() }

    func run() async throws {
        let sending = Task.immediate { try await self.send() }
        await live()
        sending.cancel()
    }

    func stopped() { Recorder.record(.ended) }

    private func send() async throws {
        let plan = Recorder.plan
        var next = ContinuousClock.now
        while !Task.isCancelled {
            next += .seconds(1) / plan.rate
            try await Task.sleep(until: next, clock: .continuous)
            // What a process that was stopped has missed isn't made up for.
            if next < .now - .seconds(1) { next = .now }
            guard open < plan.window, access(plan.sendingFile, F_OK) == 0 else { continue }
            sendOne(plan)
        }
    }

    /// Sends a message to any leaf, and doesn't wait for the end of the call.
    private func sendOne(_ plan: Plan) {
        let isForPool = context.configuration.parent < 0 && plan.pool > 0 && Int.random(in: 0..<5, using: &generator) == 0
        let parent = context.configuration.parent >= 0 ? context.configuration.parent : Int.random(in: 0..<plan.parents, using: &generator)
        let leaf = Int.random(in: 0..<plan.leaves(of: parent), using: &generator)
        let kind = Record.MessageKind.sent[Int.random(in: 0..<Record.MessageKind.sent.count, using: &generator)]
        let milliseconds = Int.random(in: 0..<8, using: &generator) == 0 ? Int.random(in: 1...5, using: &generator) : 0
        number += 1
        let number = number
        let message = MessageID(sender: Recorder.process, number: number)
        let order = WorkOrder(message: "\(message)", kind: kind.rawValue, milliseconds: milliseconds)
        Recorder.record(.sent(number: number, kind: kind, target: isForPool ? "/pool" : "/p\(parent)/l\(leaf)"))
        open += 1
        // An immediate task makes its call before the next message is made, which is the order that must be kept.
        Task.immediate {
            let outcome = await self.outcome {
                if isForPool { return try await self.send(SharedWork(order: order), RepeatedSharedWork(order: order), kind) }
                return try await self.send(order, kind, Places.all[parent], Places.all[leaf])
            }
            Recorder.record(.settled(number: number, outcome: outcome))
            self.open -= 1
        }
    }

    private func send<P: Place, L: Place>(
        _ order: WorkOrder,
        _ kind: Record.MessageKind,
        _ parent: P.Type,
        _ leaf: L.Type
    ) async throws -> Record.Outcome {
        try await send(Work<P, L>(order: order), RepeatedWork<P, L>(order: order), kind)
    }

    /// Sends one of two messages, as its kind says.
    private func send(
        _ work: some ResponderMessage,
        _ repeated: some ResponderMessage,
        _ kind: Record.MessageKind
    ) async throws -> Record.Outcome {
        switch kind {
        case .acknowledged: return try await context.send(work, acknowledged: true, timeout: .seconds(60)) ? .acknowledged : .refused
        case .ask:
            _ = try await context.ask(work)
            return .acknowledged
        case .repeated:
            _ = try await context.ask(repeated)
            return .acknowledged
        case .plain: return try await context.send(work, timeout: .seconds(60)) ? .accepted : .refused
        }
    }

    private func outcome(of send: () async throws -> Record.Outcome) async -> Record.Outcome {
        do {
            return try await send()
        } catch let error as CoordinatorError {
            return .failed(code: "\(error.code)", maybeExecuted: error.maybeExecuted)
        } catch {
            return .failed(code: error is CancellationError ? "cancelled" : "other", maybeExecuted: true)
        }
    }
}

extension Record.MessageKind {
    /// The kinds that senders send, each as often as it stands here.
    static let sent: [Record.MessageKind] = [.acknowledged, .acknowledged, .plain, .ask, .repeated]
}
