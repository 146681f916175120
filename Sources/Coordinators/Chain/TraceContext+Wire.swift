import WireProtocol

extension TraceContext {
    init?(_ bytes: Bytes) {
        guard !bytes.isEmpty else { return nil }
        self.init(traceparent: String(decoding: bytes, as: UTF8.self))
    }

    var bytes: Bytes { Bytes(Array(traceparent.utf8)) }
}
