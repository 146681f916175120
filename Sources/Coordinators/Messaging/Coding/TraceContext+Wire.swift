import WireProtocol

extension TraceContext {
    init?(_ bytes: Bytes) {
        // Bytes that aren't UTF-8 would become longer from process to process.
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(traceparent: text)
    }

    var bytes: Bytes { Bytes(Array(traceparent.utf8)) }
}
