import WireProtocol

/// A parent's question to a process that waits for a life: whether it could host this coordinator.
struct LifeProposal: Sendable {
    static let operation = "propose"

    let typeName: String
    let configuration: JSONValue
    /// Whether the configuration has all fields, rather than those that differ from the type's defaults.
    let isComplete: Bool

    init(_ definition: CoordinatorDefinition) throws {
        let (codec, bytes, isComplete) = try definition.configuration.encoded(as: .json)
        typeName = definition.typeName
        configuration = try PayloadCoder.decode(JSONValue.self, from: bytes, codec: codec)
        self.isComplete = isComplete
    }

    /// Reads the question as it arrives; `nil` when the operation is another one.
    init?(_ operation: String, _ payload: JSONValue) {
        guard operation == Self.operation, case .string(let typeName) = payload["type"] else { return nil }
        self.typeName = typeName
        configuration = payload["configuration"] ?? .object([:])
        isComplete = payload["complete"] == .bool(true)
    }

    var payload: JSONValue { ["type": .string(typeName), "configuration": configuration, "complete": .bool(isComplete)] }

    /// Checks that the program knows the type, and can read the configuration.
    ///
    /// - Throws: `unknownType`, `coding`.
    func check(by registry: TypeRegistry) throws {
        let type = try registry.type(named: typeName)
        try type.check(.encoded(.json, try PayloadCoder.encode(configuration, as: .json), isComplete: isComplete))
    }
}
