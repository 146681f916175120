import ConcurrencySupport

/// The beginning of a drain, for code of a coordinator that would go on otherwise: one element when it begins, and none if the coordinator ends
/// without one.
///
///     for await _ in context.draining { accepting = false }
///
/// A drain begins when the coordinator's turn to stop has come, and its `shutdown` or that of one above it is ``Shutdown/draining(_:)``; for a
/// child that is run to its end, when its parent's drain begins, which waits for it.
public struct DrainSignal: AsyncSequence, Sendable {
    /// The element has no content.
    public typealias Element = Void
    /// The sequence never fails, it only ends.
    public typealias Failure = Never

    let beginning: OneShot<Bool>

    /// Whether the drain has begun.
    public var hasBegun: Bool { beginning.outcome == true }

    /// Creates the iterator that waits for the drain.
    public func makeAsyncIterator() -> Iterator { Iterator(beginning: beginning) }

    /// An iterator that waits for the drain.
    public struct Iterator: AsyncIteratorProtocol {
        var beginning: OneShot<Bool>?

        /// Returns when the drain begins; `nil` after that, when the coordinator has ended, or when the task is cancelled.
        public mutating func next() async -> Void? {
            guard let beginning = beginning.take() else { return nil }
            return await beginning.valueUnlessCancelled() == true ? () : nil
        }
    }
}

extension CoordinatorContext {
    /// The beginning of the coordinator's drain.
    ///
    /// The drain waits for the `run` hook of a coordinator that has asked for this, or whose own `shutdown` drains, and cancels the hook at the end
    /// of its time. Other hooks may go on for ever: they are cancelled when the rest has drained.
    public var draining: DrainSignal { DrainSignal(beginning: node.awaitDrain()) }

    /// Runs an operation that is cancelled when a drain begins: a wait for the next job, not the job itself.
    ///
    ///     func run() async throws {
    ///         while let job = try await context.cancelWhenDraining({ try await queue.next() }) { try await perform(job) }
    ///     }
    ///
    /// - Returns: The operation's result, also if a drain has begun meanwhile; `nil` if the operation was cancelled by it, or would have begun
    ///   after it.
    /// - Throws: The error of the operation; `CancellationError` when the calling task is cancelled.
    public func cancelWhenDraining<Result: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        let draining = draining
        if draining.hasBegun { return nil }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                for await _ in draining {}
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            if let first { return first }
            do {
                return try await group.next() ?? nil
            } catch is CancellationError {
                try Task.checkCancellation()
                return nil
            }
        }
    }
}
