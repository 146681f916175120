import ConcurrencySupport
public import Coordinators
import Glibc

extension DependencyKeys {
    /// A plain value: it crosses to workers.
    public var greeting: DependencyKey<String> { .init() }

    /// A live service without a description: it stays in its process.
    public var cashBook: DependencyKey<CashBook> { .init() }

    /// A live service that each process builds for itself from its description.
    public var vault: DescribedDependencyKey<Vault, String> { .init { Vault($0) } }
}

public final class CashBook: Sendable {
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
