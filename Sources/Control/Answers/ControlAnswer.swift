public import WireProtocol

/// One answer of a daemon, as it is on the wire.
///
/// `{"v":1,"id":7,"result":{…}}`, `{"v":1,"id":7,"error":{"code":"…","message":"…"}}`, or an item of a stream that a result or an error
/// will end: `{"v":1,"id":7,"item":…}`.
public struct ControlAnswer: Hashable, Sendable {
    /// What the answer says.
    public enum Content: Hashable, Sendable {
        /// The operation succeeded; this is the last answer.
        case result(JSONValue)
        /// The operation failed; this is the last answer.
        case failure(ControlError)
        /// One of several parts.
        case item(JSONValue)
    }

    /// The request's number; nil when no number could be read, or when the whole connection is refused.
    public var id: Int64?
    /// What the answer says.
    public var content: Content

    /// Creates an answer.
    public init(id: Int64?, _ content: Content) {
        self.id = id
        self.content = content
    }

    /// The answer as a JSON object.
    public var json: JSONValue {
        var fields: [String: JSONValue] = ["v": .integer(Int64(ControlRequest.currentVersion)), "id": id.map(JSONValue.integer) ?? .null]
        switch content {
        case .result(let value): fields["result"] = value
        case .item(let value): fields["item"] = value
        case .failure(let error): fields["error"] = ["code": .string(error.code.name), "message": .string(error.message)]
        }
        return .object(fields)
    }

    /// Reads an answer; nil when it isn't one.
    public init?(json: JSONValue) {
        guard case .object(let members) = json else { return nil }
        if case .integer(let number)? = members["id"] { id = number } else { id = nil }
        if let value = members["result"] {
            content = .result(value)
        } else if let value = members["item"] {
            content = .item(value)
        } else if case .string(let code)? = members["error"]?["code"], case .string(let message)? = members["error"]?["message"] {
            content = .failure(ControlError(.init(name: code), message))
        } else {
            return nil
        }
    }
}
