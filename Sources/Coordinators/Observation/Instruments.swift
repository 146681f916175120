import ConcurrencySupport

/// The instruments of a process, its tap, and the innermost of them: the reporter of traced messages.
final class Instruments: Sendable {
    /// The time for which the process waits at its end for what the instruments have collected.
    private static let flushLimit = Duration.seconds(1)

    private let installed: [any CoordinatorInstrument]
    private let areInstalled: Bool
    private let tap: Tap
    private let traces: MessageTraces

    init(_ installed: [any CoordinatorInstrument], tap: Tap, traces: MessageTraces = MessageTraces(uplink: nil)) {
        (self.installed, areInstalled, self.tap, self.traces) = (installed, !installed.isEmpty, tap, traces)
    }

    /// Whether anything observes messages and changes at the moment.
    var areActive: Bool { areInstalled || tap.isActive || traces.isActive }

    /// Sends or handles a message within all instruments.
    func around<R: Sendable>(_ message: MessageInfo, next: () async throws -> R) async throws -> R {
        try await around(message, from: 0, next: next)
    }

    private func around<R: Sendable>(_ message: MessageInfo, from index: Int, next: () async throws -> R) async throws -> R {
        guard index < installed.count else {
            guard traces.isActive else { return try await tap.around(message, next: next) }
            return try await tap.around(message) { try await traces.around(message, next: next) }
        }
        return try await installed[index].around(message) { try await around(message, from: index + 1, next: next) }
    }

    /// Sends or handles a message within all instruments, without a suspension.
    func aroundAtOnce<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        try aroundAtOnce(message, from: 0, next: next)
    }

    private func aroundAtOnce<R: Sendable>(_ message: MessageInfo, from index: Int, next: () throws -> R) throws -> R {
        guard index < installed.count else {
            guard traces.isActive else { return try tap.around(message, next: next) }
            return try tap.around(message) { try traces.around(message, next: next) }
        }
        return try installed[index].around(message) { try aroundAtOnce(message, from: index + 1, next: next) }
    }

    func changed(_ path: CoordinatorPath, _ change: LifecycleChange) {
        for instrument in installed { instrument.changed(path, change) }
        tap.changed(path, change)
    }

    func dropped(_ letter: DeadLetter) {
        for instrument in installed { instrument.dropped(letter) }
        tap.dropped(letter)
    }

    /// Has the instruments send or write what they have collected, all at the same time.
    func flush() async {
        guard areInstalled else { return }
        _ = await Grace(Self.flushLimit).within { [installed] in
            await withTaskGroup { group in
                for instrument in installed { group.addTask { await instrument.flush() } }
            }
        }
    }
}
