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

    init<Value>(_ key: some ReadableDependencyKey<Value>, _ value: Value) { content = .value(value, crosses: key.crosses) }

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
    func value<Value>(for key: some ReadableDependencyKey<Value>) throws -> Value {
        if case .value(let value, _) = content { return try cast(value, key) }
        if let made = made.withLock({ $0 }) { return try cast(made, key) }
        let id = ObjectIdentifier(self)
        guard !Self.making.contains(id) else {
            throw CoordinatorError(.unsupported, "the dependency \(key.name) is needed to make itself")
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

    private func make<Value>(_ key: some ReadableDependencyKey<Value>) throws -> Value {
        switch content {
        case .value(let value, _): try cast(value, key)
        case .described(let description): try key.make(from: description)
        case .encoded(let codec, let bytes): try key.make(from: bytes, codec)
        }
    }

    private func cast<Value>(_ value: any Sendable, _ key: some ReadableDependencyKey<Value>) throws -> Value {
        if let value = value as? Value { return value }
        throw CoordinatorError(.coding, "the dependency \(key.name) is \(type(of: value)), not \(Value.self)")
    }
}
