/// A count of changes, for which tasks can wait without missing one.
///
/// What is looked at after the count was read is looked at again when the count is another one:
///
///     while true {
///         let seen = signal.count
///         if isAsWanted { return }
///         await signal.change(after: seen, before: deadline)
///     }
package final class ChangeSignal: Sendable {
    private struct State {
        var count: UInt64 = 0
        /// What the tasks wait for, made for the first of them.
        var next: OneShot<Void>?

        mutating func takeNext() -> OneShot<Void>? {
            defer { next = nil }
            return next
        }
    }

    private let state = Lock(State())

    package init() {}

    /// The number of changes so far.
    package var count: UInt64 { state.withLock { $0.count } }

    /// Counts a change, and resumes all that wait.
    package func noteChange() {
        let next = state.withLock { state in
            state.count += 1
            return state.takeNext()
        }
        next?.settle()
    }

    /// Returns when there has been a change since the count was read, at the time, or when a task that waits is cancelled; now and then without any of these.
    package func change(after count: UInt64, before deadline: MonotonicTime) async {
        let next = state.withLock { state -> OneShot<Void>? in
            guard state.count == count else { return nil }
            let next = state.next ?? OneShot()
            state.next = next
            return next
        }
        guard let next else { return }
        await withTaskCancellationHandler {
            _ = await next.value(before: deadline)
        } onCancel: {
            state.withLock { if $0.next === next { $0.next = nil } }
            next.settle()
        }
    }
}
