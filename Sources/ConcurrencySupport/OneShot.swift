/// A value that is settled once and may be waited for by many, before or after.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public final class OneShot<Outcome: Sendable>: Sendable {
    @usableFromInline
    struct Waiter {
        @usableFromInline let id: UInt64
        @usableFromInline let continuation: CheckedContinuation<Outcome?, Never>

        @inlinable
        init(id: UInt64, continuation: CheckedContinuation<Outcome?, Never>) {
            self.id = id
            self.continuation = continuation
        }
    }

    @usableFromInline
    enum State {
        /// The outcome isn't there yet. Can transition to: settled.
        case open([Waiter], next: UInt64)
        /// The outcome is there for good.
        case settled(Outcome)

        /// Adds a waiter, in place: there may be very many.
        @inlinable
        mutating func add(_ waiter: Waiter, next: UInt64) {
            guard case .open(var waiters, _) = self else { return }
            self = .open([], next: next)
            waiters.append(waiter)
            self = .open(waiters, next: next)
        }
    }

    @usableFromInline let state = Lock(State.open([], next: 0))

    @inlinable
    package init() {}

    /// Creates a value that is settled.
    package init(_ outcome: Outcome) { state.withLock { $0 = .settled(outcome) } }

    /// Settles the value, unless it has been settled before.
    ///
    /// - Returns: Whether this call settled the value.
    @inlinable
    @discardableResult
    package func settle(_ outcome: Outcome) -> Bool {
        let waiters = state.withLock { state -> [Waiter]? in
            guard case .open(let waiters, _) = state else { return nil }
            state = .settled(outcome)
            return waiters
        }
        for waiter in waiters ?? [] { waiter.continuation.resume(returning: outcome) }
        return waiters != nil
    }

    /// The outcome, if there is one yet.
    @inlinable
    package var outcome: Outcome? {
        state.withLock { state in
            if case .settled(let outcome) = state { outcome } else { nil }
        }
    }

    /// Waits for the outcome, whether the waiting task is cancelled or not.
    @inlinable
    package var value: Outcome {
        get async {
            // Nothing takes this waiter out, so that it is resumed with an outcome.
            await wait { _ in }.unsafelyUnwrapped
        }
    }

    /// Waits for the outcome until a time, whether the waiting task is cancelled or not.
    ///
    /// - Returns: `nil` when the time came first.
    package func value(before time: MonotonicTime, of source: TimeSource = .monotonic) async -> Outcome? {
        let timer = Lock<Timers.Timer?>(nil)
        let outcome = await wait { id in
            let scheduled = source.schedule(at: time) { self.giveUp(id) }
            timer.withLock { $0 = scheduled }
        }
        if let scheduled = timer.withLock({ $0 }) { source.cancel(scheduled) }
        return outcome
    }

    /// Waits for the outcome until the waiting task is cancelled.
    ///
    /// - Returns: `nil` when the task was cancelled first.
    package func valueUnlessCancelled() async -> Outcome? {
        let id = state.withLock { state -> UInt64? in
            guard case .open(let waiters, let next) = state else { return nil }
            state = .open(waiters, next: next + 1)
            return next
        }
        guard let id else { return outcome }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustResume = state.withLock { state -> Bool in
                    // The handler has run already when the task was cancelled before this, and found no waiter.
                    guard case .open(_, let next) = state, !Task.isCancelled else { return true }
                    state.add(Waiter(id: id, continuation: continuation), next: next)
                    return false
                }
                if mustResume { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            giveUp(id)
        }
    }

    @inlinable
    func wait(_ begun: (UInt64) -> Void) async -> Outcome? {
        await withCheckedContinuation { continuation in
            let (outcome, id) = state.withLock { state -> (Outcome?, UInt64) in
                switch state {
                case .settled(let outcome): return (outcome, 0)
                case .open(_, let next):
                    state.add(Waiter(id: next, continuation: continuation), next: next + 1)
                    return (nil, next)
                }
            }
            if let outcome { continuation.resume(returning: outcome) } else { begun(id) }
        }
    }

    private func giveUp(_ id: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard case .open(var waiters, let next) = state, let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
            let waiter = waiters.remove(at: index)
            state = .open(waiters, next: next)
            return waiter
        }
        waiter?.continuation.resume(returning: nil)
    }
}

extension OneShot where Outcome == Void {
    /// Settles a value without content, which stands for an event.
    ///
    /// - Returns: Whether this call settled the value.
    @discardableResult
    package func settle() -> Bool { settle(()) }

    /// Whether the event has happened.
    package var isSettled: Bool { outcome != nil }
}

/// A value that a task makes, and that may be given up meanwhile.
///
/// A value that comes after that is handed to the function `late`, which clears it away.
package final class PendingValue<Value: Sendable>: Sendable {
    private let outcome = OneShot<Result<Value, any Error>>()

    /// Begins to make the value.
    package init(
        in tasks: OwnedTasks,
        _ make: @escaping @Sendable () async throws -> Value,
        late: @escaping @Sendable (Value) async -> Void
    ) {
        tasks.add { [outcome] in
            do {
                let value = try await make()
                if !outcome.settle(.success(value)) { await late(value) }
            } catch {
                outcome.settle(.failure(error))
            }
        }
    }

    /// The value; throws what has kept it from being made, or why it was given up.
    package var value: Value { get async throws { try await outcome.value.get() } }

    /// Waits until the value is there, or can't be, or some time has passed; returns whether it has come to that.
    package func isSettled(within patience: Duration) async -> Bool { await outcome.value(before: .now + patience) != nil }

    /// Gives the value up, unless it's there.
    package func giveUp(_ error: any Error) { outcome.settle(.failure(error)) }

    /// Gives the value up, unless it's there after some time.
    package func giveUp(_ error: any Error, after patience: Duration) async {
        if await !isSettled(within: patience) { giveUp(error) }
    }
}
