import Links
import Logging
import Processes
import Synchronization

/// Processes of one child that were started ahead of need: each has its link already, and waits for a life.
final class SparePool: Sendable {
    fileprivate struct State {
        let counts: LiveCounts
        var idle: [WorkerHost] = [] {
            didSet { counts.spares.add(idle.count - oldValue.count, ordering: .relaxed) }
        }
        /// How many are being spawned.
        var coming = 0
        /// How many have ended while they waited, since one was last taken.
        var deaths = 0
    }

    private let program: WorkerProgram
    private let plan: WorkerPlan
    private let path: CoordinatorPath
    private let parent: Node
    private let state: Mutex<State>
    private let hasEnded = Ending<Void>()

    init(_ program: WorkerProgram, _ plan: WorkerPlan, path: CoordinatorPath, parent: Node) {
        self.program = program
        self.plan = plan
        self.path = path
        self.parent = parent
        state = Mutex(State(counts: parent.runtime.counts))
    }

    /// Whether its processes are what a child of this plan needs.
    func serves(_ program: WorkerProgram, _ plan: WorkerPlan) -> Bool { self.program == program && self.plan == plan }

    private var isOver: Bool { hasEnded.outcome != nil }

    /// How long a new one may take to have its link: to find us, and to start before that.
    private static let linkGrace = Link.handshakeTimeout + .seconds(5)

    /// How long a life that has begun has the processors for itself.
    private static let pause = Duration.milliseconds(20)

    /// Starts what is missing, when the life that has begun has had time to answer those who have waited for it.
    func fillSoon() {
        fill(after: Self.pause)
    }

    private func fill(after delay: Duration) {
        _ = Timers.shared.schedule(at: .now + delay) { [weak self] in self?.fill() }
    }

    /// Starts what is missing.
    ///
    /// Failures are tried again when the next is taken; replenishing counts against the process's bucket of restarts.
    func fill() {
        let missing = state.withLock { state -> Int in
            guard !isOver else { return 0 }
            let missing = plan.spares - state.idle.count - state.coming
            state.coming += max(missing, 0)
            return missing
        }
        for _ in 0..<max(missing, 0) { parent.runtime.spares.add { await self.add() } }
    }

    /// Takes one that lives: the one that has waited longest, if it has its link.
    ///
    /// The pool is filled again when that life has begun; see ``fillSoon()``.
    func take() -> WorkerHost? {
        state.withLock { state in
            state.deaths = 0
            let best = state.idle.firstIndex { $0.isWaiting } ?? state.idle.firstIndex { $0.isAlive }
            return best.map { state.idle.remove(at: $0) }
        }
    }

    /// Ends all that wait, for good.
    ///
    /// The runtime's end waits until nothing is left of them.
    func end() {
        hasEnded.settle(())
        let idle = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for spare in idle { spare.discard() }
    }

    /// Keeps one spare, from before its birth until nothing is left of its process.
    private func add() async {
        await parent.runtime.restartTokens.wait(orUntil: hasEnded)
        if isOver { return }
        let host = WorkerHost(program, plan, path: path, parent: parent)
        do {
            try await host.launch()
        } catch {
            parent.runtime.logger.warning("a spare can't be started", metadata: ["coordinator.path": "\(path)", "error": "\(error)"])
            await host.discardAndWait()
            return state.withLock { $0.coming -= 1 }
        }
        let isLate = state.withLock { state -> Bool in
            state.coming -= 1
            // Whoever ends the pool settles that before it takes those that wait.
            guard !isOver else { return true }
            state.idle.append(host)
            return false
        }
        if isLate { return await host.discardAndWait() }
        // One that never says hello is no use.
        let linkTimer = Timers.shared.schedule(at: .now + Self.linkGrace) { if !host.isWaiting, !host.isAssigned { host.discard() } }
        let ageTimer = plan.recycling.nextAge.map { age in
            Timers.shared.schedule(at: .now + age) { [weak self] in self?.retire(host) }
        }
        // It may end while it waits, or long after it was taken.
        await host.gone.value
        Timers.shared.cancel(linkTimer)
        if let ageTimer { Timers.shared.cancel(ageTimer) }
        let deaths = state.withLock { state -> Int? in
            guard state.remove(host) else { return nil }
            state.deaths += 1
            return state.deaths
        }
        // The first is replaced at once; a program that can't wait mustn't take the restarts of others.
        if let deaths { fill(after: deaths == 1 ? .zero : min(.milliseconds(100) * (1 << min(deaths, 9)), .seconds(30))) }
    }

    /// One has waited as long as a life may be.
    private func retire(_ host: WorkerHost) {
        guard state.withLock({ $0.remove(host) }) else { return }
        host.discard()
        fill()
    }
}

extension SparePool.State {
    /// - Returns: whether it was waiting.
    fileprivate mutating func remove(_ host: WorkerHost) -> Bool {
        guard let index = idle.firstIndex(where: { $0 === host }) else { return false }
        idle.remove(at: index)
        return true
    }
}
