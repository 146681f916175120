import ConcurrencySupport
public import Coordinators
import Glibc

/// A plain value: it crosses to workers.
public enum GreetingKey: DependencyKey { public typealias Value = String }

/// A live service without a description: it stays in its process.
public enum LedgerKey: DependencyKey { public typealias Value = Ledger }

/// A live service that each process builds for itself from its description.
public enum VaultKey: DescribedDependencyKey {
    public typealias Value = Vault
    public typealias Descriptor = String

    public static func make(from descriptor: String) throws -> Vault { Vault(descriptor) }
}

extension Dependencies {
    public var greeting: String? {
        get { self[GreetingKey.self] }
        set { self[GreetingKey.self] = newValue }
    }

    public var ledger: Ledger? {
        get { self[LedgerKey.self] }
        set { self[LedgerKey.self] = newValue }
    }

    public var vault: Vault? {
        get { self[VaultKey.self] }
        set { self[VaultKey.self] = newValue }
    }
}

public final class Ledger: Sendable {
    public let name: String
    public init(_ name: String) { self.name = name }
}

/// Says where it was built, and how many of its description its process has built.
public final class Vault: Sendable {
    private static let built = Lock<[String: Int]>([:])

    public let description: String
    public let pid: Int32 = getpid()
    public let number: Int

    init(_ description: String) {
        self.description = description
        number = Self.built.withLock { built in
            built[description, default: 0] += 1
            return built[description, default: 0]
        }
    }
}
