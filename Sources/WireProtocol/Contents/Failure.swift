/// Why there is no answer.
public struct Failure: Sendable, Hashable {
    /// A stable code of the library, such as `unhandled`, `peerLost`, `timedOut` or `stopped`; empty when a handler threw.
    public var code: String
    /// The name of the error's type.
    public var type: String
    /// The error in words.
    public var message: String
    /// The encoded error, if it can be encoded; in the frame's codec.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(code: String, type: String = "", message: String = "", payload: Bytes = []) {
        self.code = code
        self.type = type
        self.message = message
        self.payload = payload
    }
}
