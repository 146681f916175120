import ConcurrencySupport
import WireProtocol

/// A provided value, in the form in which it arrived, and the live value once it was needed.
///
/// All coordinators of a process that inherit a value share one entry, so that a service is made once.
final class DependencyEntry: Sendable {
    private enum Content {
        /// A live value; `crosses`: the value itself can be sent to other processes.
        case value(any Sendable, crosses: Bool)
        /// A description from this process.
        case described(any Codable & Sendable)
        /// An encoded value or description from another process.
        case encoded(PayloadCodec, Bytes)
    }

    private let content: Content
    private let made = Lock<(any Sendable)?>(nil)

    init<K: DependencyKey>(_ key: K.Type, _ value: K.Value) {
        // The key's type is checked, not only the value: another process couldn't decode an `any P`.
        content = .value(value, crosses: !(key is any DescribedDependencyKey.Type) && K.Value.self is any (Codable & Sendable).Type)
    }

    init(describedBy descriptor: any Codable & Sendable) { content = .described(descriptor) }

    init(_ codec: PayloadCodec, _ bytes: Bytes) { content = .encoded(codec, bytes) }

    /// The entries whose values are being made here, by identity.
    @TaskLocal private static var making: Set<ObjectIdentifier> = []

    /// Returns the live value: the first one that was made from the description.
    ///
    /// The user's code runs under no lock. When several coordinators need the value for the first time at the same time, each of them may
    /// make one, and all get the one that was ready first.
    ///
    /// - Throws: An error when the value can't be made from its description, or when making it requires the value itself.
    func value<K: DependencyKey>(for key: K.Type) throws -> K.Value {
        if case .value(let value, _) = content { return try cast(value, key) }
        if let made = made.withLock({ $0 }) { return try cast(made, key) }
        let id = ObjectIdentifier(self)
        guard !Self.making.contains(id) else {
            throw CoordinatorError(.unsupported, "the dependency \(K.name) is needed to make itself")
        }
        let value = try Self.$making.withValue(Self.making.union([id])) { try make(key) }
        return try cast(keep(value), key)
    }

    /// Keeps a value, unless another one was made first.
    ///
    /// - Returns: The first value that was made.
    private func keep(_ value: any Sendable) -> any Sendable {
        made.withLock { made in
            let first = made ?? value
            made = first
            return first
        }
    }

    /// Returns whether the value arrived in exactly this form.
    func isEncoded(_ codec: PayloadCodec, _ bytes: Bytes) -> Bool {
        guard case .encoded(let ownCodec, let ownBytes) = content else { return false }
        return ownCodec == codec && ownBytes == bytes
    }

    /// Returns the form that is sent to another process; `nil` if the value stays in this one.
    func encoded(as codec: PayloadCodec) throws(CoordinatorError) -> (PayloadCodec, Bytes)? {
        switch content {
        case .value(let value, crosses: true):
            guard let value = value as? any Codable else { return nil }
            return (codec, try PayloadCoder.encode(value, as: codec))
        case .value: return nil
        case .described(let descriptor): return (codec, try PayloadCoder.encode(descriptor, as: codec))
        case .encoded(let codec, let bytes): return (codec, bytes)
        }
    }

    private func make<K: DependencyKey>(_ key: K.Type) throws -> K.Value {
        if let described = key as? any DescribedDependencyKey.Type { return try cast(make(from: described), key) }
        guard case .encoded(let codec, let bytes) = content, let type = K.Value.self as? any (Codable & Sendable).Type else {
            throw CoordinatorError(.coding, "the dependency \(K.name) can't cross between processes: it isn't Codable, nor described")
        }
        return try cast(PayloadCoder.decode(type, from: bytes, codec: codec), key)
    }

    private func make<K: DescribedDependencyKey>(from key: K.Type) throws -> any Sendable {
        switch content {
        case .described(let descriptor):
            guard let descriptor = descriptor as? K.Descriptor else {
                throw CoordinatorError(.coding, "\(K.name) is described by \(K.Descriptor.self), not by \(type(of: descriptor))")
            }
            return try K.make(from: descriptor)
        case .encoded(let codec, let bytes):
            return try K.make(from: PayloadCoder.decode(K.Descriptor.self, from: bytes, codec: codec))
        case .value(let value, _):
            return value
        }
    }

    private func cast<K: DependencyKey>(_ value: any Sendable, _ key: K.Type) throws -> K.Value {
        if let value = value as? K.Value { return value }
        throw CoordinatorError(.coding, "the dependency \(K.name) is \(type(of: value)), not \(K.Value.self)")
    }
}
