/// Why an operator's request failed, in words for people and as a code for scripts.
///
/// On the wire it is `{"code":"noSuchPath","message":"…"}`.
public struct ControlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public var code: Code
    /// What happened, where, and what to do next.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message alone: it is what a person is shown.
    public var description: String { message }
}

extension ControlError: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, message
    }

    /// Decodes the wire's form; a code that this build doesn't know is kept.
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
