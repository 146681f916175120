/// The failure of an operator's request: a message for people and a code for scripts.
///
/// On the wire it is `{"code":"noSuchPath","message":"…"}`.
public struct ControlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public var code: Code
    /// The message: what happened, where, and what to do next.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message without the code.
    public var description: String { message }
}

extension ControlError: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, message
    }

    /// Decodes the wire's form and keeps a code that this build doesn't know.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = Code(name: try container.decode(String.self, forKey: .code))
        message = try container.decode(String.self, forKey: .message)
    }

    /// Encodes the wire's form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code.name, forKey: .code)
        try container.encode(message, forKey: .message)
    }
}
