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

/// The process at the other end of a link, as a message knows it that has come from there, or has gone there.
protocol RemoteProcess: AnyObject, Sendable {
    /// Gives back the credit of a message that isn't under way any more.
    func giveBack(_ arrival: Arrival)

    /// Sends the end of a message to the other side, which has asked it.
    func answer(_ arrival: Arrival, of envelope: Envelope, _ result: Result<Answer, any Error>)

    /// Cancels a message: on the other side when it has left, else here, so that it never leaves.
    func giveUp(_ correlation: UInt64)

    /// Cancels a message on the other side, which answers it when its handler has ended.
    ///
    /// - Returns: False when the message hasn't left, or the other side may never answer it; nothing has happened then.
    func cancelToItsEnd(_ correlation: UInt64) -> Bool
}
