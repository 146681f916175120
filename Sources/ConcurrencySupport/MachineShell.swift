public import DequeModule

/// A machine with the state that changes with it, and the directives that it has given.
public protocol MachineState {
    /// A step that the machine has its owner carry out.
    associatedtype Directive: Sendable

    /// The directives that wait to be carried out.
    var outbox: Outbox<Directive> { get set }
}

/// The shell around a machine: the lock that guards it, and the timer that wakes it.
///
/// Events go into the machine under the lock. Its directives are carried out outside the lock, one after the other in the order in which
/// they were given, whichever thread the event came on.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public struct MachineShell<State: MachineState>: ~Copyable, Sendable {
    @usableFromInline let state: Lock<State>
    private let timer: WakeTimer

    package init(_ initialState: consuming sending State, time: TimeSource = .monotonic) {
        state = Lock(initialState)
        timer = WakeTimer(time)
    }

    /// Reads or changes the state without feeding the machine.
    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try state.withLock(body)
    }

    /// Changes the state and feeds the machine under the lock, and carries out after it what the machine has decided.
    ///
    /// One thread carries directives out at a time; directives of other threads are left to it.
    @inlinable
    package borrowing func mutate<Result: Sendable>(
        _ change: (inout State) throws -> Result,
        performing perform: (State.Directive) -> Void
    ) rethrows -> Result {
        let (result, mustPerform) = try state.withLock { state in (try change(&state), state.outbox.claimWriter()) }
        if mustPerform {
            while let directive = state.withLock({ $0.outbox.next() }) { perform(directive) }
        }
        return result
    }

    /// Calls `fire` at a time on the machine's clock, and not at any that was set before.
    package borrowing func wake(at time: Duration, _ fire: @escaping @Sendable () -> Void) {
        // Rounded up: at an earlier time the machine would see that nothing is due, and want the same wake again.
        let start = MonotonicTime(sinceOrigin: time)
        timer.set(at: start.sinceOrigin < time ? start + .nanoseconds(1) : start, fire)
    }

    /// Cancels the wake that is set.
    package borrowing func cancelWake() { timer.cancel() }
}

/// The directives of a machine that wait to be carried out, one after the other in the order in which they were given.
///
/// Guarded by the machine's lock. One thread carries directives out at a time, whichever threads the events came on.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public struct Outbox<Directive: Sendable>: Sendable {
    @usableFromInline var waiting: Deque<Directive> = []
    @usableFromInline var isPerforming = false

    @inlinable
    package init() {}

    @inlinable
    package mutating func add(_ directives: [Directive]) {
        // Of the few that there are as a rule, one after the other takes less than to make room for all.
        for directive in directives { waiting.append(directive) }
    }

    @inlinable
    package mutating func add(_ directive: Directive) { waiting.append(directive) }

    /// Whether no directive waits, nor is being carried out.
    @inlinable
    package var isIdle: Bool { waiting.isEmpty && !isPerforming }

    /// Begins a turn, if directives wait and no thread carries them out.
    ///
    /// - Returns: Whether the caller has to carry out directives, after it has left the lock.
    @inlinable
    package mutating func claimWriter() -> Bool {
        if isPerforming || waiting.isEmpty { return false }
        isPerforming = true
        return true
    }

    /// Takes the directive to be carried out next; `nil`: none is left, and the caller's turn has ended.
    @inlinable
    package mutating func next() -> Directive? {
        let next = waiting.popFirst()
        if next == nil { isPerforming = false }
        return next
    }
}
