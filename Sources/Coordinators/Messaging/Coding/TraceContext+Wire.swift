import WireProtocol

extension TraceContext {
    init?(_ bytes: Bytes) {
        // What is no text would become longer on its way from process to process.
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(traceparent: text)
    }

    var bytes: Bytes { Bytes(Array(traceparent.utf8)) }
}
