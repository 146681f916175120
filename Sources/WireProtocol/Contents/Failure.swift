/// The reason why there is no answer.
public struct Failure: Sendable, Hashable {
    /// One of the library's stable codes, such as `unhandled`, `peerLost`, `timedOut` or `stopped`; empty when a handler threw.
    public var code: String
    /// The name of the error's type.
    public var type: String
    /// The error in words.
    public var message: String
    /// The error in the frame's codec, if there is no code; empty when the error can't be encoded.
    ///
    /// With a code, the payload is one byte 1 when the message may have been handled all the same, and empty otherwise.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(code: String, type: String = "", message: String = "", payload: Bytes = []) {
        self.code = code
        self.type = type
        self.message = message
        self.payload = payload
    }
}

extension Failure {
    @inline(never)
    func encode(into batch: inout [UInt8]) {
        batch.appendText(code)
        batch.appendText(type)
        batch.appendText(message)
        batch.append(contentsOf: payload)
    }

    @inline(never)
    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        self.init(
            code: try body.text(limit: limits.maximumNameLength),
            type: try body.text(),
            message: try body.text(),
            payload: body.rest()
        )
    }
}
