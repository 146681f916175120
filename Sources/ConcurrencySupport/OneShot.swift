/// A value that is settled once and may be waited for by many, before or after.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
///
/// `@unchecked`: the lock guards what changes. It holds none of it: the end of a lock with a generic value looks up the metadata of three types.
public final class OneShot<Outcome: Sendable>: @unchecked Sendable {
    @usableFromInline
    struct Waiter: Sendable {
        @usableFromInline let id: UInt64
        @usableFromInline let continuation: CheckedContinuation<Outcome?, Never>

        @inlinable
        init(id: UInt64, continuation: CheckedContinuation<Outcome?, Never>) {
            self.id = id
            self.continuation = continuation
        }
    }

    @usableFromInline let lock = Lock(())
    /// The outcome; `nil` as long as it isn't there.
    @exclusivity(unchecked) @usableFromInline var settled: Outcome?
    /// Those who wait; none once the outcome is there.
    @exclusivity(unchecked) @usableFromInline var waiters: [Waiter] = []
    /// The number of the next waiter.
    @exclusivity(unchecked) @usableFromInline var next: UInt64 = 0

    @inlinable
    package init() {}

    /// Creates a value that is settled.
    package init(_ outcome: Outcome) { settled = outcome }

    /// Settles the value, unless it has been settled before.
    ///
    /// - Returns: Whether this call settled the value.
    @inlinable
    @discardableResult
    package func settle(_ outcome: Outcome) -> Bool {
        let woken = lock.withLock { _ -> [Waiter]? in
            if settled != nil { return nil }
            settled = outcome
            defer { waiters = [] }
            return waiters
        }
        for waiter in woken ?? [] { waiter.continuation.resume(returning: outcome) }
        return woken != nil
    }

    /// The outcome, if there is one yet.
    @inlinable
    package var outcome: Outcome? { lock.withLock { _ in settled } }

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
        let id = lock.withLock { _ -> UInt64? in
            if settled != nil { return nil }
            defer { next += 1 }
            return next
        }
        guard let id else { return outcome }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustResume = lock.withLock { _ -> Bool in
                    // The handler has run already when the task was cancelled before this, and found no waiter.
                    if settled != nil || Task.isCancelled { return true }
                    waiters.append(Waiter(id: id, continuation: continuation))
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
        // Without a continuation, which costs more than all else of a wait that's over.
        if let outcome { return outcome }
        return await withCheckedContinuation { continuation in
            let (outcome, id) = lock.withLock { _ -> (Outcome?, UInt64) in
                if let settled { return (settled, 0) }
                waiters.append(Waiter(id: next, continuation: continuation))
                defer { next += 1 }
                return (nil, next)
            }
            if let outcome { continuation.resume(returning: outcome) } else { begun(id) }
        }
    }

    private func giveUp(_ id: UInt64) {
        let waiter = lock.withLock { _ -> Waiter? in waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0) } }
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
