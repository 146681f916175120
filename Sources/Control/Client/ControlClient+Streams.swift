import ConcurrencySupport
public import WireProtocol

extension ControlClient {
    /// Requests an operation whose answer is a stream, and calls a function for each item until the stream ends.
    ///
    /// The daemon waits for a function that takes long, with this connection's other answers too: a stream that isn't read quickly has a
    /// connection of its own. There is no time-out. The daemon ends the stream when the task is cancelled or the function throws.
    ///
    /// - Returns: the result that ends the stream.
    /// - Throws: the daemon's error, `.cancelled`, `.unreachable` when the daemon goes away, and the function's error.
    public func stream(
        _ operation: ControlOperation,
        each body: (JSONValue) async throws(ControlError) -> Void
    ) async throws(ControlError) -> JSONValue {
        let queue = ItemQueue()
        let id = try await begin(operation, queue)
        defer { end(id, queue) }
        while true {
            switch await queue.next() {
            case .end(let outcome): return try outcome.get()
            case .cancelled:
                abandon(id)
                throw ControlError(.cancelled, "the request was cancelled")
            case .items(let items):
                do throws(ControlError) {
                    for item in items { try await body(item) }
                } catch {
                    abandon(id)
                    throw error
                }
            }
        }
    }
}
