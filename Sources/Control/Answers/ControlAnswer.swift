public import WireProtocol

/// One answer of a daemon in the form of the wire.
///
/// It is `{"v":1,"id":7,"result":{…}}`, `{"v":1,"id":7,"error":{"code":"…","message":"…"}}`, or the next items of a stream that a result or
/// an error ends: `{"v":1,"id":7,"items":[…]}`.
public struct ControlAnswer: Hashable, Sendable {
    /// The content of an answer.
    public enum Content: Hashable, Sendable {
        /// The operation succeeded; this is the last answer.
        case result(JSONValue)
        /// The operation failed; this is the last answer.
        case failure(ControlError)
        /// The next items of a stream; other answers follow.
        case items([JSONValue])
    }

    /// The request's number; nil when the daemon could read no number, or refuses the whole connection.
    public var id: Int64?
    /// The content of the answer.
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
        case .items(let values): fields["items"] = .array(values)
        case .failure(let error):
            fields["error"] = error.json
        }
        return .object(fields)
    }

    /// Reads an answer; returns nil when the value isn't one.
    public init?(json: JSONValue) {
        guard case .object(let members) = json else { return nil }
        if case .integer(let number)? = members["id"] { id = number } else { id = nil }
        if let value = members["result"] {
            content = .result(value)
        } else if case .array(let values)? = members["items"] {
            content = .items(values)
        } else if let error = members["error"].flatMap(ControlError.init(json:)) {
            content = .failure(error)
        } else {
            return nil
        }
    }
}
