import ConcurrencySupport
import WireProtocol

/// A coordinator of this process as the layers below it know one: what takes messages, and handles them.
protocol MessageReceiver: AnyObject, Sendable {
    var path: CoordinatorPath { get }
    /// The name of the coordinator's type.
    var typeName: String { get }

    /// Cancels a handler, whose message was cancelled, and watches whether it ends.
    func cancel(_ handler: UInt64, of envelope: Envelope)

    /// Watches whether the row ends that is handling a cancelled message, if it's one that doesn't await.
    ///
    /// - Returns: Whether such a row is handling the message: otherwise no handler of it has begun.
    func noteCancellation(of envelope: Envelope) -> Bool

    /// Notes that a handler waits for another coordinator.
    func handlerWaits()

    func handlerWaitsNoMore()

    /// Notes that a handler begins or ceases to wait for the start or the end of a child.
    func noteWaitForChild(of handler: UInt64, begins: Bool)

    /// Has the executor of the coordinator run a job.
    func passExecutor(_ job: @Sendable () -> Void) async

    /// Follows a search of another process for a cycle, in this coordinator and those below it.
    ///
    /// - Parameter ask: Returns the message of the other process that has a number.
    /// - Returns: The cycle; `null` when there is none.
    func follow(cycleSearch: JSONValue, _ ask: (UInt64) -> Envelope?) async -> JSONValue
}
