/// A wait with a time limit.
package enum Deadline {
    /// Waits for an operation for at most `grace` (`nil`: for as long as it takes), whether or not the waiting task is cancelled.
    ///
    /// - Returns: False when the time ran out. The operation then goes on: code that ignores its cancellation can't be stopped.
    package static func within(_ grace: Duration?, _ operation: @escaping @Sendable () async -> Void) async -> Bool {
        guard let grace else {
            await operation()
            return true
        }
        let isDone = OneShot<Bool>()
        let timer = Timers.shared.schedule(at: .now + grace) { isDone.settle(false) }
        _ = Task.immediate {
            await operation()
            isDone.settle(true)
        }
        defer { Timers.shared.cancel(timer) }
        return await isDone.value
    }
}
