public import WireProtocol

/// The way of a stream's items to the requester.
///
/// A requester that reads slowly delays the handler of its own stream and no other: nothing waits in memory but the items of the call that
/// waits. What the handler can't keep meanwhile it counts, and reports as a gap.
public struct ItemWriter: Sendable {
    private let write: @Sendable ([JSONValue]) async throws(ControlError) -> Void

    init(_ write: @escaping @Sendable ([JSONValue]) async throws(ControlError) -> Void) { self.write = write }

    /// Sends items in one message, and returns when the connection has taken it.
    ///
    /// - Throws: `.cancelled` when the stream was cancelled, `.unreachable` when the requester is gone, `.failed` when the items are too large
    ///   or too many answers wait for all requesters together; the handler then ends the stream.
    public func send(_ items: [JSONValue]) async throws(ControlError) { try await write(items) }
}
