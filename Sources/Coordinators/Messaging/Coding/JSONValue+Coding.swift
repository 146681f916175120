import WireProtocol

extension Encodable {
    /// The value as JSON, whatever it's made of.
    func encodedAsJSON() throws(CoordinatorError) -> JSONValue {
        try PayloadCoder.decode(JSONValue.self, from: PayloadCoder.encode(self, as: .json), codec: .json)
    }
}

extension Decodable {
    /// The value that a JSON stands for.
    init(decoding json: JSONValue) throws(CoordinatorError) {
        self = try PayloadCoder.decode(Self.self, from: PayloadCoder.encode(json, as: .json), codec: .json)
    }
}
