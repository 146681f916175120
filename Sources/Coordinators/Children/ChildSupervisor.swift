import ConcurrencySupport
import DequeModule
import Glibc

/// Carries out what the supervision machine decides for one coordinator's children.
///
/// Events go into the machine under the lock; its directives are carried out after it, one after the other in the order in which
/// they were given, whichever thread the event came on.
final class ChildSupervisor: Sendable {
    struct State {
        var machine: Supervisor<String>
        var slots = ChildSlots()
        var outbox: Deque<Supervisor<String>.Directive> = []
        var isPerforming = false
        var isRefusing = false
        var wake: Timers.Timer?
        var shutdownWaiters: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
        var lastTenure: UInt64 = 0
        /// The longest that any child is given to end from now on.
        var haste: Shutdown?
    }

    let node: Node
    let tasks = OwnedTasks()
    let state: Lock<State>

    init(node: Node) {
        self.node = node
        let machine = Supervisor<String>(
            policy: node.runtime.policy(for: node),
            seed: UInt64.random(in: .min ... .max),
            isolatesFailures: node.runtime.isolatesFailures(of: node)
        )
        state = Lock(State(machine: machine))
    }

    /// Lets the machine know, and carries out what it decides.
    func handle(_ event: Supervisor<String>.Event) {
        let mustPerform = state.withLock { $0.apply(event) }
        if mustPerform { performDirectives() }
    }

    /// Carries out directives until none is left.
    ///
    /// Only one thread does so at a time.
    func performDirectives() {
        while let directive = state.withLock({ $0.nextDirective() }) { perform(directive) }
    }

    /// Ends all children in reverse start order, and returns when nothing is left of them.
    func shutDown() async {
        await withCheckedContinuation { continuation in
            let (isOver, mustPerform) = state.withLock { state -> (Bool, Bool) in
                state.isRefusing = true
                if state.hasEnded { return (true, false) }
                state.shutdownWaiters.append(continuation)
                return (false, state.apply(.shutdownRequested(.shutdown)))
            }
            if isOver { continuation.resume() }
            if mustPerform { performDirectives() }
        }
    }

    /// The children's lives, in start order.
    var hosts: [any ChildHost] { state.withLock { state in state.machine.ids.compactMap { state.slots[$0]?.host } } }

    /// No child is started any more.
    func refuse() {
        state.withLock { $0.isRefusing = true }
    }
}

extension ChildSupervisor.State {
    /// - Returns: whether the caller has to carry out the directives.
    mutating func apply(_ event: Supervisor<String>.Event) -> Bool {
        outbox.append(contentsOf: machine.handle(event, now: MonotonicTime.now.sinceOrigin))
        if isPerforming || outbox.isEmpty { return false }
        isPerforming = true
        return true
    }

    mutating func nextDirective() -> Supervisor<String>.Directive? {
        let next = outbox.popFirst()
        if next == nil { isPerforming = false }
        return next
    }
}
