import ConcurrencySupport
import FoundationEssentials
import WireProtocol

/// A child's configuration, in the form in which it reaches the child.
///
/// It takes no more room than a reference, because every child has one.
enum ConfigurationValue: Sendable {
    /// A value from the parent's program, in a `Box` of its type that nobody changes: the child's lives share it.
    case boxed(any AnyObject & Sendable)
    /// JSON from a file or a foreign peer, which replaces fields of the defaults.
    indirect case json(JSONValue)
    /// Bytes from the parent's process; `isComplete`: with all fields, none left to the defaults.
    indirect case encoded(PayloadCodec, Bytes, isComplete: Bool)

    /// That of a type that has none.
    static let none = ConfigurationValue.boxed(emptyBox)
    static let emptyBox = Box(NoConfiguration())

    static func value<Configuration: Codable & Sendable>(_ configuration: Configuration) -> ConfigurationValue {
        configuration is NoConfiguration ? none : .boxed(Box(configuration))
    }

    /// Whether the child is known to have none.
    var isNone: Bool {
        if case .boxed(let box) = self { box is Box<NoConfiguration> } else { false }
    }

    func decoded<Configuration: Codable & Sendable>(as type: Configuration.Type) throws(CoordinatorError) -> Configuration {
        try box(of: type).value
    }

    /// Returns the configuration in a box, which nobody may change.
    ///
    /// - Parameter boxType: The type of the box, which who starts many children looks up once.
    func box<Configuration: Codable & Sendable>(
        of type: Configuration.Type,
        in boxType: AnyClass = Box<Configuration>.self
    ) throws(CoordinatorError) -> Box<Configuration> {
        // A cast of generic classes, or a look at the metadata of one more type, takes a thirtieth of a start.
        if case .boxed(let box) = self, Swift.type(of: box) == boxType { return unsafeDowncast(box, to: Box<Configuration>.self) }
        return try converted(to: type)
    }

    private func converted<Configuration: Codable & Sendable>(to type: Configuration.Type) throws(CoordinatorError) -> Box<Configuration> {
        switch self {
        case .boxed(let box):
            throw CoordinatorError(.coding, "the configuration is \(Swift.type(of: Self.content(of: box))), not \(type)")
        case .json(let overlay):
            return Box(try Self.lay(overlay, overDefaultsOf: type))
        case .encoded(.json, let bytes, isComplete: false):
            return Box(try Self.lay(PayloadCoder.decode(JSONValue.self, from: bytes, codec: .json), overDefaultsOf: type))
        case .encoded(let codec, let bytes, _):
            do throws(CoordinatorError) {
                return Box(try PayloadCoder.decode(type, from: bytes, codec: codec))
            } catch {
                guard codec == .json, let configuration = Self.completed(bytes, type) else { throw error }
                return Box(configuration)
            }
        }
    }

    private static func content(of box: any AnyObject & Sendable) -> any Codable & Sendable {
        guard let box = box as? any ConfigurationBox else { preconditionFailure("value(_:) makes boxes of what is Codable") }
        return box.configuration
    }

    /// Decodes a configuration of another build, whose type lacks fields of this build's: they keep their defaults.
    ///
    /// - Returns: The configuration; `nil` if the type has no defaults, or something else is wrong.
    private static func completed<Configuration: Codable & Sendable>(_ bytes: Bytes, _ type: Configuration.Type) -> Configuration? {
        guard case .object(var fields)? = try? PayloadCoder.decode(JSONValue.self, from: bytes, codec: .json),
            case .object(let defaults)? = try? (type as? any CoordinatorConfiguration.Type)?.init().encodedAsJSON()
        else { return nil }
        func decoded() -> Configuration? { try? type.init(decoding: .object(fields)) }
        let missing = defaults.filter { fields[$0.key] == nil }
        fields.merge(missing) { given, _ in given }
        // A field that is nil isn't encoded: it stays nil, and isn't missing.
        for (key, value) in missing {
            fields[key] = nil
            if decoded() == nil { fields[key] = value }
        }
        return decoded()
    }

    func encoded(as codec: PayloadCodec) throws(CoordinatorError) -> (PayloadCodec, Bytes, isComplete: Bool) {
        switch self {
        case .boxed(let box): (codec, try PayloadCoder.encode(Self.content(of: box), as: codec), true)
        case .json(let value): (.json, try PayloadCoder.encode(value, as: .json), false)
        case .encoded(let codec, let bytes, let isComplete): (codec, bytes, isComplete)
        }
    }

    /// Returns the names of the fields that differ, in order; a difference as a whole has the name "value".
    ///
    /// The configurations are compared as JSON, in which the order of the keys doesn't matter. JSON that replaces fields of defaults is
    /// compared with complete configurations by those fields.
    func differences(from other: ConfigurationValue) throws(CoordinatorError) -> [String] {
        let (own, others) = (try json(), try other.json())
        guard own != others else { return [] }
        guard case .object(let fields) = own, case .object(let otherFields) = others else { return ["value"] }
        let names =
            switch (isOverlay, other.isOverlay) {
            case (true, false): Set(fields.keys)
            case (false, true): Set(otherFields.keys)
            case (true, true), (false, false): Set(fields.keys).union(otherFields.keys)
            }
        return names.filter { fields[$0] != otherFields[$0] }.sorted()
    }

    private var isOverlay: Bool {
        switch self {
        case .json: true
        case .boxed: false
        case .encoded(_, _, let isComplete): !isComplete
        }
    }

    /// Returns the configuration as JSON: all fields, or those that replace defaults.
    func json() throws(CoordinatorError) -> JSONValue {
        switch self {
        case .boxed(let box): try Self.content(of: box).encodedAsJSON()
        case .json(let value): value
        case .encoded(let codec, let bytes, _): try PayloadCoder.decode(JSONValue.self, from: bytes, codec: codec)
        }
    }

    /// Replaces the fields that the JSON has; the others keep their defaults, where the type has defaults.
    ///
    /// A field that the type doesn't have is an error.
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
            // The fields of one enumeration case and those of another together make neither, so the case is replaced as a whole.
            guard let other = try? type.init(decoding: base.overlaid(byCasesOf: overlay)) else { throw error }
            configuration = other
        }
        try refuseUnknownKeys(
            overlay,
            known: configuration.encodedAsJSON()
        )
        return configuration
    }

    /// Refuses unknown keys: a misspelt one would otherwise leave a default in place unnoticed.
    private static func refuseUnknownKeys(_ overlay: JSONValue, known: JSONValue) throws(CoordinatorError) {
        guard case .object(let given) = overlay, case .object(let fields) = known else { return }
        // An optional that is nil isn't encoded, so only keys with a value can be told from unknown ones.
        let unknown = given.filter { $0.value != .null && fields[$0.key] == nil }.keys.sorted()
        guard unknown.isEmpty else {
            throw CoordinatorError(
                .coding,
                "the configuration has no \(unknown.map { "'\($0)'" }.joined(separator: ", ")); it has \(fields.keys.sorted().joined(separator: ", "))"
            )
        }
    }
}

/// A box of a configuration whose type isn't known.
private protocol ConfigurationBox {
    var configuration: any Codable & Sendable { get }
}

extension Box: ConfigurationBox where Value: Codable {
    fileprivate var configuration: any Codable & Sendable { value }
}

/// A configuration whose fields all have defaults, so that a closure, a file or a peer needs to give only those that differ.
public protocol CoordinatorConfiguration: Codable, Sendable {
    /// Creates the configuration with its defaults.
    init()
}

/// A configuration without fields.
public struct NoConfiguration: CoordinatorConfiguration {
    /// Creates the value.
    public init() {}
}
