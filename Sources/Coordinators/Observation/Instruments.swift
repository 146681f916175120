import ConcurrencySupport

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
