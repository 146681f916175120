import FoundationEssentials
import WireProtocol

/// A child's configuration on its way into the child.
enum ConfigurationValue: Sendable {
    /// From the parent's program.
    case value(any Codable & Sendable)
    /// From a file or a foreign peer: laid over the defaults.
    case json(JSONValue)
    /// From the parent's process; `isComplete`: all of it, with nothing left to defaults.
    case encoded(PayloadCodec, Bytes, isComplete: Bool)

    func decoded<Configuration: Codable & Sendable>(as type: Configuration.Type) throws(CoordinatorError) -> Configuration {
        switch self {
        case .value(let value):
            guard let configuration = value as? Configuration else {
                throw CoordinatorError(.coding, "the configuration is \(Swift.type(of: value)), not \(type)")
            }
            return configuration
        case .json(let overlay):
            return try Self.lay(overlay, overDefaultsOf: type)
        case .encoded(.json, let bytes, isComplete: false):
            return try Self.lay(PayloadCoder.decode(JSONValue.self, from: bytes, codec: .json), overDefaultsOf: type)
        case .encoded(let codec, let bytes, _):
            return try PayloadCoder.decode(type, from: bytes, codec: codec)
        }
    }

    func encoded(as codec: PayloadCodec) throws(CoordinatorError) -> (PayloadCodec, Bytes, isComplete: Bool) {
        switch self {
        case .value(let value): (codec, try PayloadCoder.encode(value, as: codec), true)
        case .json(let value): (.json, try PayloadCoder.encode(value, as: .json), false)
        case .encoded(let codec, let bytes, let isComplete): (codec, bytes, isComplete)
        }
    }

    /// What the JSON leaves out keeps its default, where the type has defaults.
    ///
    /// What the type doesn't know is an error.
    private static func lay<Configuration: Codable & Sendable>(
        _ overlay: JSONValue,
        overDefaultsOf type: Configuration.Type
    ) throws(CoordinatorError) -> Configuration {
        guard let defaults = (type as? any CoordinatorConfiguration.Type)?.init() else {
            return try type.init(decoding: overlay)
        }
        let base = try defaults.encodedAsJSON()
        let configuration: Configuration
        do throws(CoordinatorError) {
            configuration = try type.init(decoding: base.overlaid(by: overlay))
        } catch {
            // A case of an enumeration that is laid over another case makes neither.
            guard let other = try? type.init(decoding: base.overlaid(byCasesOf: overlay)) else { throw error }
            configuration = other
        }
        try refuseUnknownKeys(
            overlay,
            known: configuration.encodedAsJSON()
        )
        return configuration
    }

    /// A misspelt key would otherwise be a default that nobody asked for.
    private static func refuseUnknownKeys(_ overlay: JSONValue, known: JSONValue) throws(CoordinatorError) {
        guard case .object(let given) = overlay, case .object(let fields) = known else { return }
        // An optional that is nil isn't written, so only keys with a value can be told from unknown ones.
        let unknown = given.filter { $0.value != .null && fields[$0.key] == nil }.keys.sorted()
        guard unknown.isEmpty else {
            throw CoordinatorError(
                .coding,
                "the configuration has no \(unknown.map { "'\($0)'" }.joined(separator: ", ")); it has \(fields.keys.sorted().joined(separator: ", "))"
            )
        }
    }
}
