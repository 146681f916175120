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
    /// A write that hasn't ended when `nng_stream_send` returns is aborted, which also ends it before the call returns. nng's streams write
    /// all or a part and end the operation, or write nothing and leave it in their queue (`ipc_dowrite`, `tcp_dowrite` of nng 1.5.2), so that an aborted one
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
}
