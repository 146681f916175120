import WireProtocol

/// The keys of dependencies: a program extends them with a property for each value that its coordinators need.
///
///     extension DependencyKeys {
///         var accounts: DependencyKey<any AccountStore> { .init() }
///         var database: DescribedDependencyKey<Database, String> { .init { path in try Database(path: path) } }
///     }
///
/// The value of a key is a property of the same name of ``Dependencies-struct``: `context.dependencies.accounts`, `needs: \.accounts`.
public struct DependencyKeys: Sendable {
    init() {}
}

/// A key of a value that coordinators need and that one above them provides.
///
/// A value whose type is Codable reaches workers too; any other stays in the process in which it was provided: see
/// ``DescribedDependencyKey``.
public struct DependencyKey<Value: Sendable>: Sendable {
    /// The name of the key between processes.
    let name: String

    /// Creates a key.
    ///
    /// - Parameter name: The name of the key between processes; by default the name of the property that returns the key.
    public init(_ name: String = #function) { self.name = name }
}

/// A key of a live service that every process makes for itself, from a description that can cross processes: an address, a path, a set of
/// options.
///
///     await context.provide(\.database, describedBy: "/var/lib/shop.sqlite")
public struct DescribedDependencyKey<Value: Sendable, Descriptor: Codable & Sendable>: Sendable {
    /// The name of the key between processes.
    let name: String
    let make: @Sendable (Descriptor) throws -> Value

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - name: The name of the key between processes; by default the name of the property that returns the key.
    ///   - make: A function that makes the service of a process, when it's first needed there. When several coordinators need it first at the
    ///     same time it may be made more than once: all get the one that is ready first, and the others are dropped. The function must not
    ///     block for long, and can't read the dependency itself. When it throws, the message that needed the service fails with the error,
    ///     and the next one tries again.
    public init(_ name: String = #function, _ make: @escaping @Sendable (Descriptor) throws -> Value) {
        self.name = name
        self.make = make
    }
}

/// A key of a service that every process makes for itself, runs and ends.
///
///     extension DependencyKeys {
///         var database: ServiceDependencyKey<PostgresClient, String> { .init { url in PostgresClient(configuration: try .init(url)) } }
///     }
///     await context.provide(\.database, describedBy: url)
///
/// The service is made once in a process, when a row or ``CoordinatorContext/dependency(_:)`` first needs it there. If it's a `Service` of
/// swift-service-lifecycle, the process then runs it. It's shut down gracefully after the last handler of the process, services that were
/// made later first; one that hasn't ended within five seconds is cancelled. When its `run()` throws, or returns before that, the process's
/// first coordinator fails: its supervisor restarts it, in a fresh process if it's a worker.
///
/// A property of ``Dependencies-struct`` is `nil` until the service is made. A new description makes another service when that is needed;
/// the former one runs until the process ends.
public struct ServiceDependencyKey<Value: Sendable, Descriptor: Codable & Sendable>: Sendable {
    /// The name of the key between processes.
    let name: String
    let make: @Sendable (Descriptor) async throws -> Value

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - name: The name of the key between processes; by default the name of the property that returns the key.
    ///   - make: A function that makes the service of a process. No second call begins while the first runs. When it throws, the messages that
    ///     wait for the service fail with the error, and the next one tries again. The end of a message that waits doesn't cancel it.
    public init(_ name: String = #function, _ make: @escaping @Sendable (Descriptor) async throws -> Value) {
        self.name = name
        self.make = make
    }
}

/// The making of a value.
enum Making<Value: Sendable> {
    /// A value that was made while it was read.
    case now(Value)
    /// A function that makes the value, which the reader can't wait for.
    case later(@Sendable () async throws -> Value)
}

/// A key by which an entry's value is read.
protocol ReadableDependencyKey<Value>: Sendable {
    associatedtype Value: Sendable
    var name: String { get }
    /// Whether values of the key can be sent to other processes themselves.
    var crosses: Bool { get }

    /// Makes the value from a description of this process.
    func make(from description: any Codable & Sendable) throws -> Making<Value>

    /// Makes the value from what has come from another process.
    func make(from bytes: Bytes, _ codec: PayloadCodec) throws -> Making<Value>
}

extension DependencyKey: ReadableDependencyKey {
    // The key's type is checked, not only the value: another process couldn't decode an `any P`.
    var crosses: Bool { Value.self is any (Codable & Sendable).Type }

    func make(from description: any Codable & Sendable) throws -> Making<Value> { throw cannotCross }

    func make(from bytes: Bytes, _ codec: PayloadCodec) throws -> Making<Value> {
        guard let type = Value.self as? any (Codable & Sendable).Type,
            let value = try PayloadCoder.decode(type, from: bytes, codec: codec) as? Value
        else { throw cannotCross }
        return .now(value)
    }

    private var cannotCross: CoordinatorError {
        CoordinatorError(.coding, "the dependency \(name) can't cross between processes: it isn't Codable, nor described")
    }
}

extension DescribedDependencyKey: ReadableDependencyKey {
    var crosses: Bool { false }

    func make(from description: any Codable & Sendable) throws -> Making<Value> {
        .now(try make(descriptor(description, of: name)))
    }

    func make(from bytes: Bytes, _ codec: PayloadCodec) throws -> Making<Value> {
        .now(try make(PayloadCoder.decode(Descriptor.self, from: bytes, codec: codec)))
    }
}

extension ServiceDependencyKey: ReadableDependencyKey {
    var crosses: Bool { false }

    func make(from description: any Codable & Sendable) throws -> Making<Value> {
        .later { try await make(descriptor(description, of: name)) }
    }

    func make(from bytes: Bytes, _ codec: PayloadCodec) throws -> Making<Value> {
        .later { try await make(PayloadCoder.decode(Descriptor.self, from: bytes, codec: codec)) }
    }
}

/// Returns a description as the one that a key takes.
private func descriptor<Descriptor>(_ description: any Codable & Sendable, of name: String) throws -> Descriptor {
    if let descriptor = description as? Descriptor { return descriptor }
    throw CoordinatorError(.coding, "\(name) is described by \(Descriptor.self), not by \(type(of: description))")
}

/// A property of the dependencies that a row needs.
public typealias DependencyPath<Value> = any KeyPath<Dependencies, Value?> & Sendable
