import Logging

extension CoordinatorContext {
    /// Calls a closure again and again, isolated to the coordinator, until the timer is cancelled or the coordinator stops.
    ///
    ///     context.every(.seconds(60)) { me in try await me.sweep() }
    ///
    /// The first call is due after one interval, and each later one a whole number of intervals after that, by the monotonic clock: calls
    /// don't drift. A call never begins while the former one runs: what was due meanwhile is skipped, and the next call begins at the next
    /// multiple of the interval. An error that a call throws is logged, and the calls go on. While the coordinator is paused, at most one
    /// call waits, which begins when it's resumed.
    ///
    /// The runtime cancels a call that runs when the coordinator stops, and waits for it within the grace. Timers end with the incarnation: a
    /// coordinator that needs one after a restart sets it in `start`.
    ///
    /// - Parameters:
    ///   - interval: The time from one call to the next; at least a millisecond.
    ///   - body: The closure.
    /// - Returns: The timer. Cancelling it is the only use; it needn't be kept.
    @discardableResult
    public func every(
        _ interval: Duration,
        _ body: @escaping @Sendable (isolated C) async throws -> Void
    ) -> CoordinatorTimer {
        let interval = max(interval, .milliseconds(1))
        return node.schedule(after: interval, every: interval) { try await body(MessageRow.cast($0)) }
    }

    /// Calls a closure once, isolated to the coordinator, unless the timer is cancelled or the coordinator stops before.
    ///
    /// An error that the closure throws is logged. While the coordinator is paused, a call that is due waits until it's resumed.
    ///
    /// - Parameters:
    ///   - delay: The time until the call, by the monotonic clock; zero or less: at once.
    ///   - body: The closure.
    /// - Returns: The timer. Cancelling it is the only use; it needn't be kept.
    @discardableResult
    public func after(
        _ delay: Duration,
        _ body: @escaping @Sendable (isolated C) async throws -> Void
    ) -> CoordinatorTimer {
        node.schedule(after: delay, every: nil) { try await body(MessageRow.cast($0)) }
    }

    /// Starts a task that belongs to the coordinator: the runtime cancels it when the coordinator stops, and waits for it within the grace.
    ///
    /// The asks of the task have deadlines of their own, whatever handler starts it.
    ///
    /// - Parameters:
    ///   - reaction: What an error that the task throws leads to; by default it's logged. An error after the cancellation by a stop leads
    ///     to nothing.
    ///   - operation: The task's body.
    public func task(onError reaction: TaskErrorReaction = .log, _ operation: @escaping @Sendable () async throws -> Void) {
        HandlerScope.perform(in: nil) {
            _ = node.handle { [node] in
                do {
                    try await operation()
                } catch {
                    if Task.isCancelled { return }
                    switch reaction {
                    case .log: node.logger.warning("a task of the coordinator failed", metadata: ["error": "\(error)"])
                    case .fail: node.end(.failed(.failed(String(describing: error))))
                    }
                }
            }
        }
    }
}

/// The way in which a coordinator reacts to an error of one of its tasks.
public enum TaskErrorReaction: Sendable, Hashable {
    /// The error is logged, and the coordinator goes on.
    case log
    /// The coordinator fails: supervision decides what follows, as if `run` had thrown the error.
    case fail
}

/// A call of a closure at a later time, once or again and again.
public struct CoordinatorTimer: Sendable {
    let timer: OwnTimer

    /// Cancels the calls that have not begun; one that runs goes on.
    ///
    /// A second call has no effect.
    public func cancel() { timer.cancel() }
}
