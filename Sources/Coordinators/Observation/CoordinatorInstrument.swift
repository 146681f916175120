import ConcurrencySupport

/// An observer of everything that one process does: the place for metrics, tracing and audit.
///
///     struct Latencies: CoordinatorInstrument {
///         nonisolated(nonsending) func around<R: Sendable>(
///             _ message: MessageInfo,
///             next: nonisolated(nonsending) () async throws -> R
///         ) async throws -> R {
///             let began = ContinuousClock.now
///             defer { record(message, ContinuousClock.now - began) }
///             return try await next()
///         }
///
///         func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
///             let began = ContinuousClock.now
///             defer { record(message, ContinuousClock.now - began) }
///             return try next()
///         }
///     }
///
/// Instruments are installed by `CoordinatorRuntime.Options.instruments`, in each process of the tree by that process's own options. Of
/// several the first is the outermost. A process without instruments pays nothing for them.
///
/// An instrument runs where the message is sent or handled, in the task that does it, and must not wait there: what it has to write or to
/// send belongs into a task of its own. It holds back its message for as long as it runs.
public protocol CoordinatorInstrument: Sendable {
    /// Surrounds the handling of a message by a row that awaits, or the sending of a message up to its end: the answer to an ask, or the
    /// acceptance of a one-way message.
    ///
    /// The instrument calls `next` once. What `next` returns is the result, and what it throws is the failure, which the instrument lets
    /// pass. An error of the instrument's own ends the message as an error of the handler would. Task-local values that are set around `next`
    /// hold in the handler; a ``TraceContext/current`` that is set around the sending goes with the message.
    ///
    /// Messages begin in the order in which they were sent as long as instruments don't suspend before they call `next`. In a module without
    /// the upcoming feature `NonisolatedNonsendingByDefault` this method has to be declared `nonisolated(nonsending)` for that, as `next` is
    /// here.
    func around<R: Sendable>(_ message: MessageInfo, next: nonisolated(nonsending) () async throws -> R) async throws -> R

    /// Surrounds the handling of a message by a row that doesn't await, or the sending of a request for a stream, whose replies come later.
    ///
    /// The rules are those of the method for rows that await. Such a row ends before the next message begins, also with instruments.
    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R

    /// Notes a change of a coordinator or a program.
    ///
    /// Each change is noted once in the whole tree: in the process of the parent, and that of the root in its own. A restart is `crashed`
    /// with the reason, and then `restarted`.
    func changed(_ path: CoordinatorPath, _ change: LifecycleChange)

    /// Notes a message whose handler runs on though the message was cancelled longer than ``Coordinator/cancellationGrace`` ago, in the
    /// handler's process, which is about to be killed if it's a worker.
    ///
    /// The call comes on a thread of the runtime, which the instrument must not block.
    func stuck(_ message: MessageInfo)

    /// Notes a message or event that was dropped, in the process that has dropped it.
    func dropped(_ letter: DeadLetter)

    /// Sends or writes what the instrument has collected.
    ///
    /// The runtime calls this at the end of the process, when nothing is left of its coordinators, and waits a second at most.
    func flush() async
}

extension CoordinatorInstrument {
    /// Does nothing.
    public func changed(_ path: CoordinatorPath, _ change: LifecycleChange) {}

    /// Does nothing.
    public func stuck(_ message: MessageInfo) {}

    /// Does nothing.
    public func dropped(_ letter: DeadLetter) {}

    /// Does nothing.
    public func flush() async {}
}

// MARK: - The instruments of a process

/// The instruments of a process, its tap, the reporter of traced messages, and the innermost of them: the recorder of spans and of times.
final class Instruments: Sendable {
    /// The time for which the process waits at its end for what the instruments have collected.
    private static let flushLimit = Duration.seconds(1)

    private let installed: [any CoordinatorInstrument]
    private let tap: Tap
    private let traces: MessageTraces?
    private let telemetry: Telemetry?
    private let activity: ObservationActivity

    init(_ installed: [any CoordinatorInstrument], tap: Tap, traces: MessageTraces? = nil, telemetry: Telemetry? = nil) {
        (self.installed, self.tap, self.traces, self.telemetry, activity) = (installed, tap, traces, telemetry, tap.activity)
        if !installed.isEmpty { activity.set(.installed, true) }
    }

    /// Whether anything observes messages and changes at the moment.
    var areActive: Bool { activity.isAny }

    /// Sends or handles a message within all instruments.
    func around<R: Sendable>(_ message: MessageInfo, next: () async throws -> R) async throws -> R {
        try await around(message, from: 0, next: next)
    }

    private func around<R: Sendable>(_ message: MessageInfo, from index: Int, next: () async throws -> R) async throws -> R {
        guard index < installed.count else {
            if !activity.hasMore(than: .installed) { return try await next() }
            return try await tap.around(message) { try await aroundInnermost(message, next: next) }
        }
        return try await installed[index].around(message) { try await around(message, from: index + 1, next: next) }
    }

    /// Sends or handles a message within all instruments, without a suspension.
    func aroundAtOnce<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        try aroundAtOnce(message, from: 0, next: next)
    }

    private func aroundAtOnce<R: Sendable>(_ message: MessageInfo, from index: Int, next: () throws -> R) throws -> R {
        guard index < installed.count else {
            if !activity.hasMore(than: .installed) { return try next() }
            return try tap.around(message) { try aroundInnermostAtOnce(message, next: next) }
        }
        return try installed[index].around(message) { try aroundAtOnce(message, from: index + 1, next: next) }
    }

    private func aroundInnermost<R: Sendable>(_ message: MessageInfo, next: () async throws -> R) async throws -> R {
        guard let traces, traces.isActive else { return try await aroundTelemetry(message, next: next) }
        return try await traces.around(message) { try await aroundTelemetry(message, next: next) }
    }

    private func aroundTelemetry<R: Sendable>(_ message: MessageInfo, next: () async throws -> R) async throws -> R {
        guard let telemetry, telemetry.isActive else { return try await next() }
        return try await telemetry.around(message, next: next)
    }

    private func aroundInnermostAtOnce<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        guard let traces, traces.isActive else { return try aroundTelemetryAtOnce(message, next: next) }
        return try traces.around(message) { try aroundTelemetryAtOnce(message, next: next) }
    }

    private func aroundTelemetryAtOnce<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        guard let telemetry, telemetry.isActive else { return try next() }
        return try telemetry.around(message, next: next)
    }

    func changed(_ path: CoordinatorPath, _ change: LifecycleChange) {
        for instrument in installed { instrument.changed(path, change) }
        tap.changed(path, change)
    }

    func stuck(_ message: MessageInfo) { for instrument in installed { instrument.stuck(message) } }

    func dropped(_ letter: DeadLetter) {
        for instrument in installed { instrument.dropped(letter) }
        tap.dropped(letter)
    }

    /// Has the instruments send or write what they have collected, and whatever else does, all at the same time.
    func flush(with other: (@Sendable () async -> Void)? = nil) async {
        if installed.isEmpty && other == nil { return }
        _ = await Grace(Self.flushLimit).within { [installed] in
            await withTaskGroup { group in
                for instrument in installed { group.addTask { await instrument.flush() } }
                if let other { group.addTask { await other() } }
            }
        }
    }
}
