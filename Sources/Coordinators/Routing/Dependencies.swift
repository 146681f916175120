import ConcurrencySupport
import Logging
import ServiceLifecycle
import WireProtocol

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
struct CellDependencies {
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
    ///
    /// - Returns: False when nothing was ever provided.
    mutating func inherit(_ dependencies: Dependencies) -> Bool {
        if layers.isEmpty, dependencies.isUntouched { return false }
        guard dependencies.version >= layers.value.inherited.version else { return true }
        layers.value.inherited = layers.value.isBehindBorder ? dependencies.acrossBorder : dependencies
        layers.value.update()
        return true
    }
}

// MARK: - One provided value

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
        UnmadeService { [self] owner in try await prepare(name, make, in: owner) }
    }

    /// Makes the service, unless it's made or being made, and returns when it is.
    private func prepare<Value: Sendable>(
        _ name: String,
        _ make: @escaping @Sendable () async throws -> Value,
        in owner: any ServiceOwner
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
                owner.tasks.add { [self] in
                    let outcome: Result<Void, any Error>
                    do { outcome = .success(try await makeService(name, make, in: owner)) } catch { outcome = .failure(error) }
                    making.withLock { $0 = nil }
                    end.settle(outcome)
                }
            }
        }
        // The making goes on without one who waits no longer.
        guard let outcome = await end.valueUnlessCancelled() else { throw CancellationError() }
        try outcome.get()
    }

    private func makeService<Value: Sendable>(
        _ name: String,
        _ make: @Sendable () async throws -> Value,
        in owner: any ServiceOwner
    ) async throws {
        // A call that has come late finds the service made.
        if made.withLock({ $0 }) != nil { return }
        let value = try await make()
        if let service = value as? any Service { try owner.services.run(service, named: name) }
        _ = keep(value)
    }

    private func cast<Value>(_ value: any Sendable, _ key: some ReadableDependencyKey<Value>) throws -> Value {
        if let value = value as? Value { return value }
        throw CoordinatorError(.coding, "the dependency \(key.name) is \(type(of: value)), not \(Value.self)")
    }
}

// MARK: - Services of a process

/// The process that makes services, and runs them.
protocol ServiceOwner: Sendable {
    var tasks: OwnedTasks { get }
    var services: ProcessServices { get }
}

/// A service that its process hasn't made yet.
struct UnmadeService: Error {
    /// Makes the service, or waits until another caller has made it.
    let make: @Sendable (any ServiceOwner) async throws -> Void
}

/// The services that a property of the dependencies reads, and that its process hasn't made yet.
struct UnmadeServices: Error {
    let all: [UnmadeService]
}

/// The services that a process runs, from their making until its last handler has ended.
final class ProcessServices: Sendable {
    private struct Running {
        let name: String
        let group: ServiceGroup
        let task: Task<Void, Never>
    }

    private struct State {
        var isEnding = false
        var running: [Running] = []
        var failed: (@Sendable (ExitReason) -> Void)?
    }

    /// The time that a service is given to end gracefully, and then the time after its cancellation.
    private static let graces: (graceful: Duration, cancelled: Duration) = (.seconds(5), .seconds(1))

    private let logger: Logger
    private let time: TimeSource
    private let state = Lock(State())

    init(logger: Logger, _ time: TimeSource) { (self.logger, self.time) = (logger, time) }

    /// Sets the function that ends the process's first coordinator when a service has failed.
    func whenOneFails(_ failed: @escaping @Sendable (ExitReason) -> Void) { state.withLock { $0.failed = failed } }

    /// Runs a service until the process ends.
    ///
    /// - Throws: `stopped` when the process ends already.
    func run(_ service: any Service, named name: String) throws(CoordinatorError) {
        let group = ServiceGroup(services: [service], logger: logger)
        let isEnding = state.withLock { state in
            if state.isEnding { return true }
            let task = time.task { [weak self] in
                let cause: String
                do {
                    try await group.run()
                    cause = "it has ended"
                } catch let error as ServiceGroupError where error.errorCode == .serviceFinishedUnexpectedly {
                    cause = "it has ended"
                } catch {
                    cause = "\(error)"
                }
                self?.ended(name, cause)
            }
            state.running.append(Running(name: name, group: group, task: task))
            return false
        }
        if isEnding { throw CoordinatorError(.stopped, "the process ends, and \(name) isn't run any more") }
    }

    private func ended(_ name: String, _ cause: String) {
        let failed = state.withLock { $0.isEnding ? nil : $0.failed }
        failed?(.failed("the service \(name): \(cause)".shortened))
    }

    /// Ends the services, those that were made later first.
    func end() async {
        let running = state.withLock { state in
            state.isEnding = true
            defer { state.running = [] }
            return state.running
        }
        for service in running.reversed() { await end(service) }
    }

    private func end(_ service: Running) async {
        let hasEnded = await Grace(Self.graces.graceful, time).within {
            await service.group.triggerGracefulShutdown()
            await service.task.value
        }
        if hasEnded { return }
        service.task.cancel()
        if await Grace(Self.graces.cancelled, time).within({ await service.task.value }) { return }
        logger.error("a service ignores its cancellation, and is abandoned", metadata: ["dependency": "\(service.name)"])
    }
}
