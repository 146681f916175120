public import WireProtocol

/// One request of an operator in the form of the wire.
///
/// `{"v":1,"id":7,"op":"restart","path":"/shop","request_id":"…"}`; the answer has the same `id`.
public struct ControlRequest: Hashable, Sendable {
    /// The version of the protocol that this build speaks.
    public static let currentVersion = 1

    /// The version of the protocol in which the request is written.
    public var version: Int
    /// The number that the requester gave the request; no other open request of the connection has it.
    public var id: Int64
    /// The requested operation.
    public var operation: ControlOperation
    /// The name of a change, valid on every connection: a second request of the same name isn't carried out but gets the first
    /// one's answer.
    public var requestID: String?
    /// The operator whose request a node passes on; nil: the requester makes it itself.
    public var origin: RequestOrigin?

    /// Creates a request.
    public init(id: Int64, operation: ControlOperation, requestID: String? = nil, origin: RequestOrigin? = nil) {
        self.version = Self.currentVersion
        self.id = id
        self.operation = operation
        self.requestID = requestID
        self.origin = origin
    }

    /// The request as a JSON object.
    public var json: JSONValue {
        var fields = operation.fields
        fields["v"] = .integer(Int64(version))
        fields["id"] = .integer(id)
        fields["request_id"] = requestID.map(JSONValue.string)
        fields["origin"] = origin?.json
        return .object(fields)
    }

    /// Reads the request of a node.
    ///
    /// - Throws: `.invalidRequest`, which names the field.
    init(ofNode json: JSONValue) throws(ControlError) {
        try self.init(json: json)
        origin = try json["origin"].map { json throws(ControlError) in try RequestOrigin(json: json) }
    }

    /// Reads a request, of which the origin is skipped.
    ///
    /// - Throws: `.invalidRequest`, which names the field.
    public init(json: JSONValue) throws(ControlError) {
        let fields = try Self.fields(of: json)
        version = Self.currentVersion
        id = try fields.integer("id")
        operation = try ControlOperation(fields: fields)
        origin = nil
        switch fields.members["request_id"] {
        case nil, .null?: requestID = nil
        case .string(let text)? where (1...128).contains(text.utf8.count): requestID = text
        default: throw ControlError(.invalidRequest, "`request_id` isn't a text of 1 to 128 bytes; expected something like a UUID")
        }
    }

    /// Returns the members of an object that is written in this version of the protocol.
    static func fields(of json: JSONValue) throws(ControlError) -> RequestFields {
        guard case .object(let members) = json else {
            throw ControlError(.invalidRequest, "the request isn't a JSON object; expected {\"v\":1,\"id\":1,\"op\":\"tree\"}")
        }
        let fields = RequestFields(members: members)
        let version = try fields.integer("v")
        guard version == currentVersion else {
            throw ControlError(
                .invalidRequest,
                "the request is written in version \(version) of the control protocol; this daemon speaks version \(currentVersion)"
            )
        }
        return fields
    }
}

extension ControlRequest: Codable {
    /// Decodes the wire's form.
    public init(from decoder: any Decoder) throws {
        self = try ControlRequest(json: try JSONValue(from: decoder))
    }

    /// Encodes the wire's form.
    public func encode(to encoder: any Encoder) throws {
        try json.encode(to: encoder)
    }
}
