import ConcurrencySupport

/// What a coordinator has been provided with, by itself or by those above it.
///
/// A value: reading it again may give another one after an update. Extended with a property for each key, as ``DependencyKey`` shows.
public struct Dependencies: Sendable {
    var entries: [String: DependencyEntry] = [:]
    /// Grows with every change at the coordinator that hands these down, so that those below recognise what is older than what they have.
    var version: UInt64 = 0
    /// Who looks, where that matters.
    private var probe: Probe?

    /// Notes down which keys were read, and why a service couldn't be made.
    private final class Probe: Sendable {
        let names = Lock<[String]>([])
        let error = Lock<(any Error)?>(nil)
    }

    /// Nothing provided yet.
    public init() {}

    /// What was provided under a key; `nil` if nothing was, or it can't be made from its description.
    public subscript<K: DependencyKey>(key: K.Type) -> K.Value? {
        get {
            probe?.names.withLock { $0.append(K.name) }
            guard let entry = entries[K.name] else { return nil }
            do {
                return try entry.value(for: key)
            } catch {
                probe?.error.withLock { $0 = error }
                return nil
            }
        }
        set { entries[K.name] = newValue.map { DependencyEntry(key, $0) } }
    }

    /// Describes a service, which is made where it's needed.
    public mutating func describe<K: DescribedDependencyKey>(_ key: K.Type, by descriptor: K.Descriptor) {
        entries[K.name] = DependencyEntry(describedBy: descriptor)
    }

    /// These, with others laid over them.
    func overlaid(by others: Dependencies) -> Dependencies {
        var result = self
        result.entries.merge(others.entries) { $1 }
        return result
    }
}

extension Dependencies {
    /// The names of the keys that a property reads, of these dependencies.
    static func names<Value>(
        of path: any KeyPath<Dependencies, Value?> & Sendable,
        in dependencies: Dependencies = Dependencies()
    ) -> [String] {
        var dependencies = dependencies
        let probe = Probe()
        dependencies.probe = probe
        _ = dependencies[keyPath: path as KeyPath<Dependencies, Value?>]
        return probe.names.withLock { $0 }
    }

    /// - Throws: when it can't be made, or was not provided.
    func required<Value>(_ path: any KeyPath<Dependencies, Value?> & Sendable) throws -> Value {
        var probed = self
        let probe = Probe()
        probed.probe = probe
        if let value = probed[keyPath: path as KeyPath<Dependencies, Value?>] { return value }
        if let error = probe.error.withLock({ $0 }) { throw error }
        throw CoordinatorError(.unsupported, "\(probe.names.withLock { $0 }.joined(separator: ", ")) isn't provided")
    }
}

/// What one coordinator inherits, provides itself, and so passes on.
struct NodeDependencies {
    private(set) var effective: Dependencies
    private var inherited: Dependencies
    private var provided = Dependencies()
    private let overrides: Dependencies

    /// - Parameter overrides: what wins over everything that is provided, in tests.
    init(inherited: Dependencies, overrides: Dependencies) {
        self.inherited = inherited
        self.overrides = overrides
        effective = inherited.overlaid(by: overrides)
        effective.version = 0
    }

    mutating func provide(_ more: Dependencies) {
        provided = provided.overlaid(by: more)
        update()
    }

    /// Takes what those above provide, unless something newer has come already.
    mutating func inherit(_ dependencies: Dependencies) {
        guard dependencies.version >= inherited.version else { return }
        inherited = dependencies
        update()
    }

    private mutating func update() {
        let version = effective.version + 1
        effective = inherited.overlaid(by: provided).overlaid(by: overrides)
        effective.version = version
    }
}
