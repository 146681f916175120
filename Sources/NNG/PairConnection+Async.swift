import ConcurrencySupport

extension PairConnection {
    /// Sends one message and returns when the kernel has taken it.
    ///
    /// One at a time, else `.busy` is thrown. When the task is cancelled before the first byte has left, nothing is sent and `.canceled`
    /// is thrown; later, half a message can't be taken back: `.canceled` is thrown and the connection closed. On an encrypted connection a
    /// cancellation has no effect.
    public func send(_ body: [UInt8]) async throws(NNGError) {
        let request = CancellationRequest()
        let error = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                writer.transmit(body, request: request) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            writer.cancel(request)
        }
        if let error { throw error }
    }

    /// Waits for the next message, and returns it.
    ///
    /// One at a time, else `.busy` is thrown. When the task is cancelled `.canceled` is thrown and no message is lost. When the
    /// connection has ended, the messages that came before are returned first, then the reason is thrown, again at each call.
    public func receive() async throws(NNGError) -> [UInt8] {
        try await reader.receive().get()
    }
}
