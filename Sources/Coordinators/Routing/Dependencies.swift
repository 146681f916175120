import ConcurrencySupport

/// The dependencies of a coordinator, provided by itself or by those above it.
///
/// The dependencies are a value: reading them again may give another one after an update. The properties are those of
/// ``DependencyKeys``; an extension of this type may add ones that are made of several.
@dynamicMemberLookup
public struct Dependencies: Sendable {
    var entries: [String: DependencyEntry] = [:]
    /// The version, which grows with every change at the coordinator that passes the dependencies on, so that those below recognise older
    /// ones.
    var version: UInt64 = 0
    /// The probe that records the reads, if there is one.
    private var probe: Probe?

    /// A record of the keys that were read, and of the error if a service couldn't be made.
    private final class Probe: Sendable {
        let names = Lock<[String]>([])
        let error = Lock<(any Error)?>(nil)
        /// The services that haven't been made yet.
        let unmade = Lock<[UnmadeService]>([])
    }

    /// Creates dependencies without values.
    public init() {}

    /// The value provided for a key; `nil` if none was.
    public subscript<Value: Sendable>(dynamicMember key: any KeyPath<DependencyKeys, DependencyKey<Value>> & Sendable) -> Value? {
        get { value(for: DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, DependencyKey<Value>>]) }
        set { set(newValue, for: DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, DependencyKey<Value>>]) }
    }

    /// The service of a described key; `nil` if neither it nor a description was provided, or it can't be made.
    public subscript<Value: Sendable, Descriptor: Codable & Sendable>(
        dynamicMember key: any KeyPath<DependencyKeys, DescribedDependencyKey<Value, Descriptor>> & Sendable
    ) -> Value? {
        get { value(for: DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, DescribedDependencyKey<Value, Descriptor>>]) }
        set { set(newValue, for: DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, DescribedDependencyKey<Value, Descriptor>>]) }
    }

    /// The service of a key; `nil` if neither it nor a description was provided, or this process hasn't made it yet.
    public subscript<Value: Sendable, Descriptor: Codable & Sendable>(
        dynamicMember key: any KeyPath<DependencyKeys, ServiceDependencyKey<Value, Descriptor>> & Sendable
    ) -> Value? {
        get { value(for: DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, ServiceDependencyKey<Value, Descriptor>>]) }
        set { set(newValue, for: DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, ServiceDependencyKey<Value, Descriptor>>]) }
    }

    /// Describes a service, which is made where it's needed.
    public mutating func describe<Value: Sendable, Descriptor: Codable & Sendable>(
        _ key: any KeyPath<DependencyKeys, DescribedDependencyKey<Value, Descriptor>> & Sendable,
        by descriptor: Descriptor
    ) {
        let key = DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, DescribedDependencyKey<Value, Descriptor>>]
        entries[key.name] = DependencyEntry(describedBy: descriptor)
    }

    /// Describes a service, which is made, run and ended in each process that needs it.
    public mutating func describe<Value: Sendable, Descriptor: Codable & Sendable>(
        _ key: any KeyPath<DependencyKeys, ServiceDependencyKey<Value, Descriptor>> & Sendable,
        by descriptor: Descriptor
    ) {
        let key = DependencyKeys()[keyPath: key as KeyPath<DependencyKeys, ServiceDependencyKey<Value, Descriptor>>]
        entries[key.name] = DependencyEntry(describedBy: descriptor)
    }

    private func value<Value>(for key: some ReadableDependencyKey<Value>) -> Value? {
        probe?.names.withLock { $0.append(key.name) }
        guard let entry = entries[key.name] else { return nil }
        do {
            return try entry.value(for: key)
        } catch let unmade as UnmadeService {
            probe?.unmade.withLock { $0.append(unmade) }
            return nil
        } catch {
            probe?.error.withLock { $0 = error }
            return nil
        }
    }

    private mutating func set<Value>(_ value: Value?, for key: some ReadableDependencyKey<Value>) {
        entries[key.name] = value.map { DependencyEntry(key, $0) }
    }

    /// The dependencies as another process gets them, with the live values of this one.
    var acrossBorder: Dependencies {
        var result = self
        result.entries = entries.mapValues { $0.stays ? .absent : $0 }
        return result
    }

    /// Whether there is no value, and has never been one.
    var isUntouched: Bool { entries.isEmpty && version == 0 }

    /// Returns these dependencies with others in their place where both have a value.
    func overlaid(by others: Dependencies) -> Dependencies {
        var result = self
        result.entries.merge(others.entries) { $1 }
        return result
    }
}

extension Dependencies {
    /// Returns the names of the keys that a property reads in some dependencies.
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

    /// Returns the value of a property.
    ///
    /// - Throws: `UnmadeServices` when services have to be made first; an error when the value can't be made, or was not provided.
    func required<Value>(_ path: any KeyPath<Dependencies, Value?> & Sendable) throws -> Value {
        var probed = self
        let probe = Probe()
        probed.probe = probe
        if let value = probed[keyPath: path as KeyPath<Dependencies, Value?>] { return value }
        if let error = probe.error.withLock({ $0 }) { throw error }
        let unmade = probe.unmade.withLock { $0 }
        if !unmade.isEmpty { throw UnmadeServices(all: unmade) }
        throw CoordinatorError(.unsupported, "\(probe.names.withLock { $0 }.joined(separator: ", ")) isn't provided")
    }
}

/// The dependencies that one coordinator inherits and provides itself, and those that it passes on.
struct NodeDependencies {
    private struct Layers: Emptiable {
        var effective = Dependencies()
        var inherited = Dependencies()
        var provided = Dependencies()
        /// The values that take precedence over all provided ones, in tests.
        var overrides = Dependencies()
        /// Whether the coordinator gets what a worker would get.
        var isBehindBorder = false

        var isEmpty: Bool {
            effective.isUntouched && inherited.isUntouched && provided.isUntouched && overrides.isUntouched && !isBehindBorder
        }

        mutating func update() {
            let version = effective.version + 1
            effective = inherited.overlaid(by: provided).overlaid(by: overrides)
            effective.version = version
        }
    }

    private var layers = LazyStorage<Layers>()

    /// - Parameters:
    ///   - overrides: The values that take precedence over all provided ones, in tests.
    ///   - isBehindBorder: Whether the coordinator gets what a worker would get.
    init(inherited: Dependencies, overrides: Dependencies, isBehindBorder: Bool) {
        if inherited.isUntouched, overrides.isUntouched, !isBehindBorder { return }
        let inherited = isBehindBorder ? inherited.acrossBorder : inherited
        var effective = inherited.overlaid(by: overrides)
        effective.version = 0
        layers.value = Layers(effective: effective, inherited: inherited, overrides: overrides, isBehindBorder: isBehindBorder)
    }

    var effective: Dependencies { layers.isEmpty ? Dependencies() : layers.value.effective }

    mutating func provide(_ more: Dependencies) {
        layers.value.provided = layers.value.provided.overlaid(by: more)
        layers.value.update()
    }

    /// Takes over the dependencies that the coordinators above provide, unless newer ones have arrived already.
    mutating func inherit(_ dependencies: Dependencies) {
        if layers.isEmpty, dependencies.isUntouched { return }
        guard dependencies.version >= layers.value.inherited.version else { return }
        layers.value.inherited = layers.value.isBehindBorder ? dependencies.acrossBorder : dependencies
        layers.value.update()
    }
}
