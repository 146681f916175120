import Logging
import Processes
import Synchronization
import WireProtocol

/// Processes of one child that were started ahead of need: each waits for its ticket, and ends when nobody can give it one any more.
final class SparePool: Sendable {
    /// A process that waits for its ticket.
    struct Spare: Sendable {
        let child: ChildProcess
        let pipe: TicketPipe
        let since: MonotonicTime
    }

    private struct State {
        var idle: [Spare] = []
        /// How many are being spawned.
        var coming = 0
        var hasEnded = false
    }

    private let size: Int
    private let program: WorkerProgram
    private let plan: WorkerPlan
    private let path: CoordinatorPath
    private let runtime: RuntimeCore
    private let tasks = OwnedTasks()
    private let state = Mutex(State())

    init(_ program: WorkerProgram, _ plan: WorkerPlan, path: CoordinatorPath, runtime: RuntimeCore) {
        size = plan.spares
        self.program = program
        self.plan = plan
        self.path = path
        self.runtime = runtime
    }

    /// Starts what is missing.
    ///
    /// Failures are tried again when the next is taken; replenishing counts against the process's bucket of restarts.
    func fill() {
        let missing = state.withLock { state -> Int in
            guard !state.hasEnded else { return 0 }
            let missing = size - state.idle.count - state.coming
            state.coming += max(missing, 0)
            return missing
        }
        for _ in 0..<max(missing, 0) { tasks.add { await self.add() } }
    }

    /// Takes one that lives and isn't older than a life may be.
    ///
    /// Replenishing waits for ``fill()``, so that the life that begins has the processors for itself.
    func take() -> Spare? {
        while let spare = state.withLock({ $0.idle.popLast() }) {
            if spare.child.exitStatus != nil { continue }
            if let age = plan.recycling.age, MonotonicTime.now - spare.since > age {
                discard(spare)
                continue
            }
            return spare
        }
        return nil
    }

    /// Ends all that wait, for good.
    func end() {
        let idle = state.withLock { state in
            state.hasEnded = true
            defer { state.idle = [] }
            return state.idle
        }
        for spare in idle { discard(spare) }
    }

    private func add() async {
        await runtime.restartTokens.wait()
        var spare: Spare?
        do throws(CoordinatorError) {
            let (child, pipe) = try await runtime.spawner.spawn(program, plan, path: path)
            spare = Spare(child: child, pipe: pipe, since: .now)
        } catch {
            runtime.logger.warning("a spare can't be started", metadata: ["coordinator.path": "\(path)", "error": "\(error)"])
        }
        let isLate = state.withLock { state -> Bool in
            state.coming -= 1
            guard let spare, !state.hasEnded else { return true }
            state.idle.append(spare)
            return false
        }
        guard let spare else { return }
        if isLate { return discard(spare) }
        let identity = spare.child.identity
        spare.child.onExit { [weak self] _ in self?.ended(identity) }
    }

    /// One has ended: while it waited, or long after it was taken.
    private func ended(_ identity: ProcessIdentity) {
        let wasIdle = state.withLock { state -> Bool in
            guard let index = state.idle.firstIndex(where: { $0.child.identity == identity }) else { return false }
            state.idle.remove(at: index)
            return true
        }
        if wasIdle { fill() }
    }

    private func discard(_ spare: Spare) {
        spare.pipe.close()
        try? spare.child.sendToGroup(.kill)
    }
}
