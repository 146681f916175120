/// Waiting that ends.
package enum Deadline {
    /// Waits for an operation at most `grace` (`nil`: for as long as it takes), whether the waiting task is cancelled or not.
    ///
    /// - Returns: false when the time ran out. The operation goes on then; nothing can be done about code that ignores its cancellation.
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
