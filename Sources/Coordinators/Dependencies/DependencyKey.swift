/// A key of a value that coordinators need and that one above them provides.
///
///     enum AccountsKey: DependencyKey { typealias Value = AccountStore }
///     extension Dependencies {
///         var accounts: AccountStore? {
///             get { self[AccountsKey.self] }
///             set { self[AccountsKey.self] = newValue }
///         }
///     }
///
/// A value that is Codable reaches workers too; any other stays in the process in which it was provided: see ``DescribedDependencyKey``.
public protocol DependencyKey: Sendable {
    /// The type of the provided value.
    associatedtype Value: Sendable
    /// The name of the key between processes: by default the type's name without its module.
    static var name: String { get }
}

extension DependencyKey {
    /// The type's name without its module.
    public static var name: String { TypeNames.name(of: Self.self) }
}

/// A key of a live service that every process makes for itself, from a description that can cross processes.
///
///     enum DatabaseKey: DescribedDependencyKey {
///         static func make(from path: String) throws -> Database { try Database(path: path) }
///     }
///     await context.provide(DatabaseKey.self, describedBy: "/var/lib/shop.sqlite")
public protocol DescribedDependencyKey: DependencyKey {
    /// The description from which the service is made: an address, a path, a set of options.
    associatedtype Descriptor: Codable & Sendable

    /// Makes the service of a process, when it's first needed there.
    ///
    /// When several coordinators need it first at the same time it may be made more than once: all get the one that is ready first, and the
    /// others are dropped. It must not block for long, and can't read the dependency itself. When it throws, the message that needed it
    /// fails with the error, and the next one tries again.
    static func make(from descriptor: Descriptor) throws -> Value
}

/// A key of a service that every process makes for itself, runs and ends.
///
///     enum DatabaseKey: ServiceDependencyKey {
///         static func make(from url: String) async throws -> PostgresClient { PostgresClient(configuration: try .init(url)) }
///     }
///     await context.provide(DatabaseKey.self, describedBy: url)
///
/// The service is made once in a process, when a row or ``CoordinatorContext/dependency(_:)`` first needs it there. If it's a `Service` of
/// swift-service-lifecycle, the process then runs it. It's shut down gracefully after the last handler of the process, services that were
/// made later first; one that hasn't ended within five seconds is cancelled. When its `run()` throws, or returns before that, the process's
/// first coordinator fails: its supervisor restarts it, in a fresh process if it's a worker.
///
/// A property of ``Dependencies-struct`` is `nil` until the service is made. A new description makes another service when that is needed;
/// the former one runs until the process ends.
public protocol ServiceDependencyKey: DependencyKey {
    /// The description from which the service is made: an address, a path, a set of options.
    associatedtype Descriptor: Codable & Sendable

    /// Makes the service of a process.
    ///
    /// No second call begins while the first runs. When it throws, the messages that wait for the service fail with the error, and the next
    /// one tries again. The end of a message that waits doesn't cancel it.
    static func make(from descriptor: Descriptor) async throws -> Value
}
