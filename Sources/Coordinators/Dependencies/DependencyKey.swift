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
