import ConcurrencySupport
public import Coordinators
public import CoreMetrics

/// An instrument that counts and times messages and changes with swift-metrics, in any backend.
///
///     options.bootstrap = { _ in MetricsSystem.bootstrap(backend) }
///     options.instruments = [MetricsInstrument()]
///
/// It's installed in each process of the tree, and each process has the backend that it has bootstrapped. The names follow OpenTelemetry's
/// conventions for calls and messages, https://opentelemetry.io/docs/specs/semconv/rpc/rpc-metrics/:
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `rpc.client.call.duration` | timer | `rpc.method`, `coordinator.type`, `error.type` |
/// | `rpc.server.call.duration` | timer | the same |
/// | `messaging.client.operation.duration` | timer | `messaging.operation.name`, `coordinator.type`, `error.type` |
/// | `messaging.process.duration` | timer | the same |
/// | `coordinator.mailbox.wait` | timer | `rpc.method` or `messaging.operation.name`, `coordinator.type` |
/// | `coordinator.changes` | counter | `change` |
/// | `coordinator.stuck_handlers` | counter | `coordinator.type` |
/// | `coordinator.dead_letters` | counter | `reason` |
///
/// The calls are asks and streams, the messages are one-way messages. A dimension is the type of a coordinator, never its path: keys in
/// paths are often as many as users. `error.type` is the type of the error, and empty without one.
public struct MetricsInstrument: CoordinatorInstrument {
    private let meters: Meters

    /// Creates an instrument.
    ///
    /// - Parameter factory: The backend; `nil`: the one that the process has bootstrapped by the time of the first message.
    public init(factory: (any MetricsFactory)? = nil) { meters = Meters(factory) }

    /// Times a message.
    public func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        let began = MonotonicTime.now
        do {
            let result = try await next()
            meters.record(message, since: began)
            return result
        } catch {
            meters.record(message, since: began, error)
            throw error
        }
    }

    /// Times a message.
    public func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        let began = MonotonicTime.now
        do {
            let result = try next()
            meters.record(message, since: began)
            return result
        } catch {
            meters.record(message, since: began, error)
            throw error
        }
    }

    /// Counts a change.
    public func changed(_ path: CoordinatorPath, _ change: LifecycleChange) {
        meters.count("coordinator.changes", "change", change.label)
    }

    /// Counts a handler that runs on past its cancellation.
    public func stuck(_ message: MessageInfo) {
        meters.count("coordinator.stuck_handlers", "coordinator.type", message.coordinatorType ?? "")
    }

    /// Counts a message or event that was dropped.
    public func dropped(_ letter: DeadLetter) { meters.count("coordinator.dead_letters", "reason", letter.reason.label) }
}

/// The timers and counters of an instrument, each made when it's first needed: a backend may take its time to make one.
private final class Meters: Sendable {
    private struct Key: Hashable {
        var label: String
        var message: String
        var type: String
        var error: String
    }

    private struct State {
        var timers: [Key: CoreMetrics.Timer] = [:]
        var counters: [[String]: Counter] = [:]
    }

    private let given: (any MetricsFactory)?
    private let state = Lock(State())

    init(_ factory: (any MetricsFactory)?) { given = factory }

    private var factory: any MetricsFactory { given ?? MetricsSystem.factory }

    func record(_ message: MessageInfo, since began: MonotonicTime, _ error: (any Error)? = nil) {
        let took = MonotonicTime.now - began
        let name = message.name
        let type = message.coordinatorType ?? ""
        let isCall = message.kind != .send
        let label =
            switch (message.direction, isCall) {
            case (.outgoing, true): "rpc.client.call.duration"
            case (.incoming, true): "rpc.server.call.duration"
            case (.outgoing, false): "messaging.client.operation.duration"
            case (.incoming, false): "messaging.process.duration"
            }
        let named = isCall ? "rpc.method" : "messaging.operation.name"
        let failure = error.map { "\(Swift.type(of: $0))" } ?? ""
        timer(Key(label: label, message: name, type: type, error: failure), named).recordNanoseconds(took.nanosecondsClamped)
        guard message.direction == .incoming else { return }
        timer(Key(label: "coordinator.mailbox.wait", message: name, type: type, error: ""), named, hasError: false)
            .recordNanoseconds(message.waited.nanosecondsClamped)
    }

    func count(_ label: String, _ dimension: String, _ value: String) {
        let counter = state.withLock { state -> Counter in
            if let counter = state.counters[[label, value]] { return counter }
            let counter = Counter(label: label, dimensions: [(dimension, value)], factory: factory)
            state.counters[[label, value]] = counter
            return counter
        }
        counter.increment()
    }

    private func timer(_ key: Key, _ named: String, hasError: Bool = true) -> CoreMetrics.Timer {
        state.withLock { state in
            if let timer = state.timers[key] { return timer }
            var dimensions = [(named, key.message), ("coordinator.type", key.type)]
            if hasError { dimensions.append(("error.type", key.error)) }
            let timer = CoreMetrics.Timer(label: key.label, dimensions: dimensions, factory: factory)
            state.timers[key] = timer
            return timer
        }
    }
}
