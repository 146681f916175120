import ConcurrencySupport
import Control
import Coordinators
import Glibc

/// The latest events of the tree and the daemon, numbered, in a ring of bounded size.
///
/// Readers have a position of their own; one that is too slow misses the events that the ring has lost, and learns of their number.
final class EventLog: Sendable {
    /// What a reader gets at a time.
    struct Page {
        /// The events, among them a gap when some are missing.
        var events: [ControlEvent] = []
        /// The number of the last event that was looked at.
        var last: UInt64
        /// The signal that there is another event; nil when there is one already.
        var more: OneShot<Void>?
    }

    private struct State {
        /// The ring: the event with number n is at n modulo the capacity.
        var ring: [ControlEvent] = []
        var last: UInt64 = 0
        /// The number of the last event that was never in the ring.
        var lost: UInt64 = 0
        var appended = OneShot<Void>()
        var lives = LifeTable()
        /// The dropped messages that no event has reported yet.
        var letters = Letters()
    }

    private struct Letters {
        var count: UInt64 = 0
        var latest: DeadLetter?
        var isScheduled = false
    }

    /// The largest number of events that a reader gets at a time.
    private static let pageSize = 64
    /// The shortest time between two events about dropped messages, of which there may be thousands in a second.
    private static let letterInterval = Duration.seconds(1)
    /// The length of the longest reason that is kept.
    private static let reasonLimit = 1024

    private let capacity: Int
    /// The identifier of this daemon's life.
    let boot: String
    private let state = Lock(State())

    init(capacity: Int = 4096) {
        self.capacity = capacity
        boot = String(UInt64.random(in: .min ... .max) | 1 << 63, radix: 16)
    }

    /// Creates the log that goes on with the events of the former program in this process: readers see one log.
    init(continuing former: Legacy, capacity: Int = 4096) {
        self.capacity = capacity
        boot = former.boot
        state.withLock { state in
            state.last = former.last - UInt64(min(former.events.count, Int(former.last)))
            // The ring is filled up to where its first event belongs.
            let gap = ControlEvent(boot: boot, kind: .gap)
            state.ring = Array(repeating: gap, count: state.last >= UInt64(capacity) ? capacity : Int(state.last) + 1)
            state.lost = state.last
            for event in former.events { _ = append(event, &state) }
            // It has lives that began with events which the ring has lost.
            if let lives = former.lives { state.lives = lives }
        }
    }

    /// The log as the next program gets it.
    struct Legacy: Codable {
        let boot: String
        let last: UInt64
        /// The last events, up to that one.
        let events: [ControlEvent]
        /// The lives that the events were about; nil in what a former version has left.
        let lives: LifeTable?
    }

    /// The log for the next program in this process.
    var legacy: Legacy {
        state.withLock { state in
            let count = min(state.last - state.lost, UInt64(capacity))
            let numbers = (state.last - count)..<state.last
            return Legacy(
                boot: boot,
                last: state.last,
                events: numbers.map { state.ring[Int(($0 + 1) % UInt64(capacity))] },
                lives: state.lives
            )
        }
    }

    /// Adds an event, which gets its number here, and its time unless it has one.
    func append(_ event: ControlEvent) {
        let appended = state.withLock { append(event, &$0) }
        appended.settle()
    }

    private func append(_ event: ControlEvent, _ state: inout State) -> OneShot<Void> {
        state.last += 1
        var event = event
        (event.number, event.boot) = (state.last, boot)
        if event.time.isEmpty { event.time = Timestamp.now }
        event.reason = event.reason?.cut(to: Self.reasonLimit)
        if state.ring.count < capacity {
            // Position 0 belongs to the number `capacity`.
            if state.ring.isEmpty { state.ring.append(event) }
            state.ring.append(event)
        } else {
            state.ring[Int(state.last % UInt64(capacity))] = event
        }
        state.lives.record(event)
        defer { state.appended = OneShot() }
        return state.appended
    }

    /// Adds the changes of children that the library reports.
    func recordLifecycle(_ changes: [LifecycleRecord], missed: Int) {
        let appended = state.withLock { state -> [OneShot<Void>] in
            var signals: [OneShot<Void>] = []
            if missed > 0 {
                let reason = "a process has reported fewer changes than there were"
                signals.append(append(ControlEvent(kind: .gap, reason: reason, count: UInt64(missed)), &state))
            }
            for change in changes { signals.append(append(ControlEvent(change), &state)) }
            return signals
        }
        for signal in appended { signal.settle() }
    }

    /// Counts dropped messages, and adds an event about them once a second at most.
    func recordDeadLetters(_ report: DeadLetterReport) {
        let mustSchedule = state.withLock { state in
            // A worker's number isn't trusted.
            let (sum, isTooLarge) = state.letters.count.addingReportingOverflow(report.count)
            state.letters.count = isTooLarge ? .max : sum
            state.letters.latest = report.letters.last ?? state.letters.latest
            defer { state.letters.isScheduled = true }
            return !state.letters.isScheduled
        }
        if mustSchedule { reportLetters() }
    }

    private func reportLetters() {
        let appended = state.withLock { state -> OneShot<Void>? in
            guard state.letters.count > 0 else {
                state.letters.isScheduled = false
                return nil
            }
            let (letter, count) = (state.letters.latest, state.letters.count)
            state.letters = Letters(isScheduled: true)
            let reason = letter.map { "\($0.name) from \($0.sender): \($0.reason)" }
            return append(ControlEvent(kind: .deadLetters, path: letter?.target.description, reason: reason, count: count), &state)
        }
        guard let appended else { return }
        appended.settle()
        _ = Timers.shared.schedule(at: .now + Self.letterInterval) { [weak self] in self?.reportLetters() }
    }

    /// Returns the events after a number.
    func page(after number: UInt64) -> Page {
        state.withLock { state in
            let number = min(number, state.last)
            let oldest = max(state.last < UInt64(capacity) ? 1 : state.last - UInt64(capacity) + 1, state.lost + 1)
            var page = Page(last: number, more: number == state.last ? state.appended : nil)
            if number + 1 < oldest {
                page.last = oldest - 1
                page.events.append(
                    ControlEvent(number: page.last, boot: boot, time: Timestamp.now, kind: .gap, count: page.last - number)
                )
            }
            while page.last < state.last, page.events.count < Self.pageSize {
                page.last += 1
                page.events.append(state.ring[Int(page.last % UInt64(capacity))])
            }
            return page
        }
    }

    /// The number of the last event.
    var latest: UInt64 { state.withLock { $0.last } }

    /// The number before that of the oldest event that is kept.
    var beginning: UInt64 { state.withLock { max($0.last < UInt64(capacity) ? 0 : $0.last - UInt64(capacity), $0.lost) } }

    /// Returns the last lives of a path, oldest first; nil when nothing is known of it.
    func history(of path: String) -> LifeHistory? { state.withLock { $0.lives.history(of: path) } }

    /// Returns the number of a path's last life; nil when nothing is known of it.
    func lastLife(of path: String) -> UInt32? { state.withLock { $0.lives.last(of: path) } }
}

extension ControlEvent {
    /// The number of restarts in a row with which a child is failing, as in its state.
    private static let failing = 3

    fileprivate init(_ change: LifecycleRecord) {
        self.init(
            time: Timestamp.text(microseconds: change.time),
            kind: .other,
            path: change.path.description,
            incarnation: change.incarnation == 0 ? nil : change.incarnation,
            pid: change.processID
        )
        switch change.kind {
        case .lifecycle(let change):
            (kind, reason) = Self.kind(of: change)
            (exitCode, signal) = (change.exitReason?.exitCode, change.exitReason?.signal)
        case .restarting(let attempt, let delay):
            kind = attempt >= Self.failing ? .failing : .restarting
            self.attempt = attempt
            delayMilliseconds = delay.wholeMilliseconds
        case .adopted: kind = .adopted
        case .silent(let silence):
            kind = .unresponsive
            reason = "its executor has run nothing for \(silence.briefText)"
        case .stuck(let text):
            kind = .unresponsive
            reason = text
        case .parked(let error):
            kind = .parked
            reason = error
        case .brokeRule(let rule):
            kind = .violation
            reason = rule
        case .health(let problem):
            kind = problem == nil ? .healthy : .unhealthy
            reason = problem
        }
    }

    private static func kind(of change: LifecycleChange) -> (Kind, String?) {
        switch change {
        case .started: (.started, nil)
        case .restarted: (.restarted, nil)
        case .paused: (.paused, nil)
        case .resumed: (.resumed, nil)
        case .stopped(let reason): (.stopped, reason.description)
        case .crashed(let reason): (.crashed, reason.description)
        case .startFailed(let reason): (.startFailed, reason.description)
        case .gaveUp(let reason): (.gaveUp, reason.description)
        }
    }
}

extension String {
    /// The beginning of the text, at most this many bytes and a mark.
    func cut(to length: Int) -> String {
        utf8.count <= length ? self : String(decoding: utf8.prefix(length), as: UTF8.self) + "…"
    }
}
