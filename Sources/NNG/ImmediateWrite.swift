internal import CNNG

/// A write whose end nng reports to no thread, because it ends within the call.
///
/// A write with a callback costs a switch to another thread even if the kernel takes the bytes at once, which it does unless the socket's
/// buffer is full. An `nng_aio` without a callback ends in the thread that ends it.
final class ImmediateWrite: @unchecked Sendable {
    // Used by one thread at a time: the holder of the writer's transmission.
    private let aio: OpaquePointer

    init(address: String) throws(NNGError) {
        var aio: OpaquePointer?
        let result = nng_aio_alloc(&aio, nil, nil)
        guard result == 0, let aio else { throw NNGError(.init(rawValue: result), operation: "send", address: address) }
        self.aio = aio
    }

    deinit { nng_aio_reap(aio) }

    /// Writes as much as the kernel takes now.
    ///
    /// A write that hasn't ended when `nng_stream_send` returns is aborted, which also ends it before the call returns. nng's IPC streams write
    /// all or a part and end the operation, or write nothing and leave it in their queue (`ipc_dowrite` of nng 1.5.2), so that an aborted one
    /// has written nothing.
    /// - Parameter setVectors: Sets the bytes.
    /// - Returns: The number of bytes that were written; 0 if there is no room, or the stream has failed or was closed.
    func perform(on handle: Handle, _ setVectors: (_ aio: OpaquePointer) -> Void) -> Int {
        guard let stream = handle.enter() else { return 0 }
        defer { handle.leave() }
        setVectors(aio)
        nng_stream_send(stream, aio)
        nng_aio_abort(aio, NNGError.Code.canceled.rawValue)
        nng_aio_wait(aio)
        return nng_aio_result(aio) == 0 ? nng_aio_count(aio) : 0
    }

    /// Writes to an encrypted stream.
    ///
    /// nng encrypts within the call while its buffer has room, which is that of one packet (`tls_do_send` of nng 1.5.2). What the encryption has
    /// begun can't be taken back, so a write that hasn't ended stays under way. The writes of a stream end in their order: the end of a later
    /// one, even one of no bytes, is the end of this one too.
    /// - Parameter setVectors: Sets the bytes, which stay where they are until the write's end.
    /// - Returns: The outcome; `nil` if the write is under way, until a later one has ended.
    func performEncrypted(on handle: Handle, _ setVectors: (_ aio: OpaquePointer) -> Void) -> AsyncOperation.Outcome? {
        guard let stream = handle.enter() else { return AsyncOperation.Outcome(code: .closed) }
        defer { handle.leave() }
        setVectors(aio)
        nng_stream_send(stream, aio)
        if handle.isClosed { handle.closeAgain(stream) }
        // Both are zero from the beginning of a write until its end, which has at least a byte or an error.
        guard nng_aio_result(aio) != 0 || nng_aio_count(aio) != 0 else { return nil }
        return outcome
    }

    /// The outcome of a write that has ended, or is about to.
    var outcome: AsyncOperation.Outcome {
        nng_aio_wait(aio)
        let result = nng_aio_result(aio)
        guard result == 0 else { return AsyncOperation.Outcome(code: NNGError.Code(rawValue: result)) }
        return AsyncOperation.Outcome(count: nng_aio_count(aio))
    }
}
