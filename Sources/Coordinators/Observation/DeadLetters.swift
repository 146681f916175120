import Synchronization

/// Counts every drop and keeps the latest; a worker's go up to the root's process, so that they outlive it.
final class DeadLetters: Sendable {
    static let kept = 256
    /// How long letters collect before they are sent up.
    private static let delay = Duration.milliseconds(20)

    private struct State {
        var report = DeadLetterReport(count: 0, letters: [])
        var upward = DeadLetterReport(count: 0, letters: [])
        var isScheduled = false
    }

    private let tap: Tap
    private let uplink: Uplink?
    private let state = Mutex(State())

    init(tap: Tap, uplink: Uplink?) {
        self.tap = tap
        self.uplink = uplink
    }

    var report: DeadLetterReport { state.withLock { $0.report } }

    func record(_ letter: DeadLetter) {
        tap.publish(.dropped(letter))
        add(DeadLetterReport(count: 1, letters: [letter]))
    }

    /// Takes over what was dropped below, or here.
    func add(_ report: DeadLetterReport) {
        let mustSchedule = state.withLock { state -> Bool in
            state.report.add(report)
            guard uplink != nil else { return false }
            state.upward.add(report)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard mustSchedule else { return }
        _ = Timers.shared.schedule(at: .now + Self.delay) { [weak self] in self?.flush() }
    }

    /// Sends up what has collected.
    func flush() {
        guard let uplink else { return }
        let report = state.withLock { state in
            state.isScheduled = false
            defer { state.upward = DeadLetterReport(count: 0, letters: []) }
            return state.upward
        }
        guard report.count > 0, !uplink.notify(Notification.deadLetters, report) else { return }
        // The link is down: they wait for the next.
        state.withLock { $0.upward.add(report) }
    }
}

extension DeadLetterReport {
    mutating func add(_ other: DeadLetterReport) {
        count += other.count
        letters += other.letters
        if letters.count > DeadLetters.kept { letters.removeFirst(letters.count - DeadLetters.kept) }
    }
}

/// What a process tells the one above of its own accord, as events with these names.
enum Notification {
    static let deadLetters = "coordinators.dead-letters"
    static let tap = "coordinators.tap"
}
