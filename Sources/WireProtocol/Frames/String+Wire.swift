extension String {
    /// Creates a text from bytes that have to be UTF-8; nil when they are not.
    @inline(__always)
    init?(checking bytes: Bytes) {
        do {
            self.init(copying: try UTF8Span(validating: bytes.span))
        } catch {
            return nil
        }
    }
}
