import WireProtocol

extension Encodable {
    /// Returns the value as JSON, whatever its type.
    func encodedAsJSON() throws(CoordinatorError) -> JSONValue {
        try PayloadCoder.decode(JSONValue.self, from: PayloadCoder.encode(self, as: .json), codec: .json)
    }
}

extension Decodable {
    /// Decodes the value from JSON.
    init(decoding json: JSONValue) throws(CoordinatorError) {
        self = try PayloadCoder.decode(Self.self, from: PayloadCoder.encode(json, as: .json), codec: .json)
    }
}
