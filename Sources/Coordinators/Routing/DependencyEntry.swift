import ConcurrencySupport
import ServiceLifecycle
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
        /// A value that a process above has, and that can't cross.
        case absent
    }

    private let content: Content
    private let made = Lock<(any Sendable)?>(nil)
    /// The end of a service's making, while that is under way.
    private let making = Lock<OneShot<Result<Void, any Error>>?>(nil)

    init<Value>(_ key: some ReadableDependencyKey<Value>, _ value: Value) { content = .value(value, crosses: key.crosses) }

    init(describedBy descriptor: any Codable & Sendable) { content = .described(descriptor) }

    /// Takes over what has arrived from another process: nothing, if the value stays there.
    init(_ codec: PayloadCodec, _ bytes: Bytes) { content = bytes.isEmpty ? .absent : .encoded(codec, bytes) }

    private init(_ content: Content) { self.content = content }

    /// The entry of a value that a process above has, and that can't cross.
    static let absent = DependencyEntry(.absent)

    /// Whether the value stays in this process.
    var stays: Bool {
        switch content {
        case .value(_, let crosses): !crosses
        case .absent: true
        case .described, .encoded: false
        }
    }

    /// The entries whose values are being made here, by identity.
    @TaskLocal private static var making: Set<ObjectIdentifier> = []

    /// Returns the live value: the first one that was made from the description.
    ///
    /// The user's code runs under no lock. When several coordinators need the value for the first time at the same time, each of them may
    /// make one, and all get the one that was ready first.
    ///
    /// - Throws: An error when the value can't be made from its description, or when making it requires the value itself; `UnmadeService`
    ///   when it's a service that has to be made first.
    func value<Value>(for key: some ReadableDependencyKey<Value>) throws -> Value {
        if case .value(let value, _) = content { return try cast(value, key) }
        if let made = made.withLock({ $0 }) { return try cast(made, key) }
        let id = ObjectIdentifier(self)
        guard !Self.making.contains(id) else {
            throw CoordinatorError(.unsupported, "the dependency \(key.name) is needed to make itself")
        }
        switch try Self.$making.withValue(Self.making.union([id]), operation: { try make(key) }) {
        case .now(let value): return try cast(keep(value), key)
        case .later(let make): throw unmade(key.name, make)
        }
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
        if case .absent = content { return bytes.isEmpty }
        guard case .encoded(let ownCodec, let ownBytes) = content else { return false }
        return ownCodec == codec && ownBytes == bytes
    }

    /// Returns the form that is sent to another process; `nil` if the value stays in this one.
    func encoded(as codec: PayloadCodec) throws(CoordinatorError) -> (PayloadCodec, Bytes)? {
        switch content {
        case .value(let value, crosses: true):
            guard let value = value as? any Codable else { return nil }
            return (codec, try PayloadCoder.encode(value, as: codec))
        case .value, .absent: return nil
        case .described(let descriptor): return (codec, try PayloadCoder.encode(descriptor, as: codec))
        case .encoded(let codec, let bytes): return (codec, bytes)
        }
    }

    private func make<Value>(_ key: some ReadableDependencyKey<Value>) throws -> Making<Value> {
        switch content {
        case .value(let value, _): return .now(try cast(value, key))
        case .described(let description): return try key.make(from: description)
        case .encoded(let codec, let bytes): return try key.make(from: bytes, codec)
        case .absent:
            let remedy = "make its value Codable, or provide it by a description"
            throw CoordinatorError(.unsupported, "the dependency \(key.name) doesn't reach this process, as it can't cross: \(remedy)")
        }
    }

    // MARK: Services

    private func unmade<Value: Sendable>(_ name: String, _ make: @escaping @Sendable () async throws -> Value) -> UnmadeService {
        UnmadeService { [self] runtime in try await prepare(name, make, in: runtime) }
    }

    /// Makes the service, unless it's made or being made, and returns when it is.
    private func prepare<Value: Sendable>(
        _ name: String,
        _ make: @escaping @Sendable () async throws -> Value,
        in runtime: RuntimeCore
    ) async throws {
        let (end, isFirst) = making.withLock { making -> (OneShot<Result<Void, any Error>>, Bool) in
            if let making { return (making, false) }
            let end = OneShot<Result<Void, any Error>>()
            making = end
            return (end, true)
        }
        if isFirst {
            // No part of a handler: others wait for the service too.
            HandlerScope.perform(in: nil) {
                runtime.tasks.add { [self] in
                    let outcome: Result<Void, any Error>
                    do { outcome = .success(try await makeService(name, make, in: runtime)) } catch { outcome = .failure(error) }
                    making.withLock { $0 = nil }
                    end.settle(outcome)
                }
            }
        }
        try await end.value.get()
    }

    private func makeService<Value: Sendable>(
        _ name: String,
        _ make: @Sendable () async throws -> Value,
        in runtime: RuntimeCore
    ) async throws {
        // A call that has come late finds the service made.
        if made.withLock({ $0 }) != nil { return }
        let value = try await make()
        if let service = value as? any Service { try runtime.services.run(service, named: name) }
        _ = keep(value)
    }

    private func cast<Value>(_ value: any Sendable, _ key: some ReadableDependencyKey<Value>) throws -> Value {
        if let value = value as? Value { return value }
        throw CoordinatorError(.coding, "the dependency \(key.name) is \(type(of: value)), not \(Value.self)")
    }
}
