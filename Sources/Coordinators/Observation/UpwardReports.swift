import ConcurrencySupport
import Supervision

/// What a process notifies the one above of by itself.
protocol UpwardNotice: Codable, Sendable {
    /// The name of the notification.
    static var notification: String { get }
    /// Returns a coordinator that the notice is about, and that is neither at a path nor below it; `nil`: there is none.
    ///
    /// A worker may speak of its own subtree alone. The sender that it names of a message isn't one that it speaks of.
    func subjectOutside(of path: CoordinatorPath) -> String?
}

extension UpwardNotice {
    /// Returns the first of the coordinators that is neither at a path nor below it, or that can't exist because its path is too long.
    static func subjectOutside(of path: CoordinatorPath, among subjects: some Sequence<CoordinatorPath>) -> String? {
        subjects.first { !$0.isWithin(path) || $0.description.utf8.count > CoordinatorPath.limit }?.description
    }
}

/// A report of a process to the root's process, which can be added to another.
protocol UpwardReport: UpwardNotice {
    /// Creates an empty report.
    init()
    var isEmpty: Bool { get }
    /// Adds a report from this process or another, whose values aren't trusted, within the report's bounds.
    mutating func add(_ other: Self)
}

/// The reports of a worker that are sent up together: as a rule, at most one notification in 20 milliseconds.
final class UpwardReports<Report: UpwardReport>: Sendable {
    /// The time for which reports are collected.
    private let delay: Duration

    private struct State {
        var report = Report()
        var isScheduled = false
        /// The number of reports that are being encoded and handed to the link.
        var sending = 0
        /// The callers that wait until none is.
        var waiters: [OneShot<Void>] = []
    }

    private let uplink: Uplink
    /// Whether a report leaves at once when none has left for a while.
    private let isPrompt: Bool
    private let state = Lock(State())

    init(_ uplink: Uplink, isPrompt: Bool, delay: Duration = .milliseconds(20)) {
        self.uplink = uplink
        self.isPrompt = isPrompt
        self.delay = delay
    }

    func add(_ report: Report) { update { $0.add(report) } }

    /// Changes the report that is sent next.
    func update(_ change: (inout Report) -> Void) {
        let mustSchedule = state.withLock { state -> Bool in
            change(&state.report)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard mustSchedule else { return }
        if isPrompt { flush() }
        schedule()
    }

    /// Sends what was collected.
    ///
    /// - Returns: False when the link is down: the report waits for the next one.
    @discardableResult
    private func flush() -> Bool {
        let report = state.withLock { state in
            state.sending += 1
            defer { state.report = Report() }
            return state.report
        }
        let isSent = report.isEmpty || uplink.notify(Report.notification, report)
        let waiters = state.withLock { state -> [OneShot<Void>] in
            state.sending -= 1
            if !isSent {
                var whole = report
                whole.add(state.report)
                state.report = whole
            }
            guard state.sending == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.settle(()) }
        return isSent
    }

    /// Sends what was collected, and returns when the link has it, with what the timer was just sending.
    func flushToEnd() async {
        flush()
        let waiter = OneShot<Void>()
        let isSending = state.withLock { state in
            if state.sending > 0 { state.waiters.append(waiter) }
            return state.sending > 0
        }
        if isSending { await waiter.value }
    }

    private func schedule() {
        _ = Timers.shared.schedule(at: .now + delay) { [weak self] in self?.timePassed() }
    }

    private func timePassed() {
        let isOver = state.withLock { state in
            state.isScheduled = isPrompt && !state.report.isEmpty
            return !state.isScheduled
        }
        let isSent = flush()
        if isOver { return }
        if isSent { schedule() } else { state.withLock { $0.isScheduled = false } }
    }
}

/// The messages that no coordinator responded to within a moment.
struct UnhandledReport: UpwardReport {
    /// The number of messages that are reported at a time; further ones are only failed.
    static let limit = 256
    static let notification = "coordinators.unhandled"

    private(set) var messages: [UnhandledMessage]

    init() { messages = [] }

    init(messages: [UnhandledMessage]) { self.messages = messages }

    var isEmpty: Bool { messages.isEmpty }

    func subjectOutside(of path: CoordinatorPath) -> String? { nil }

    /// The report as that of a worker: a message whose sender isn't below it has climbed from the worker all the same.
    func climbed(from path: CoordinatorPath) -> UnhandledReport {
        UnhandledReport(messages: messages.map { $0.sender.isWithin(path) ? $0 : UnhandledMessage(name: $0.name, sender: path) })
    }

    mutating func add(_ other: UnhandledReport) {
        messages += other.messages.prefix(Self.limit - messages.count).map {
            UnhandledMessage(name: $0.name.shortened, sender: $0.sender.shortened)
        }
    }
}

// Texts of other processes, which may be as long as a frame, are kept for long, and many of them may wait for those who view them: they're cut.

extension ExitReason {
    private var shortened: ExitReason {
        switch self {
        case .failed(let text): .failed(text.shortened)
        case .startFailed(let text): .startFailed(text.shortened)
        case .escalated(let text): .escalated(text.shortened)
        case .normal, .shutdown, .exited, .signaled, .hung, .startTimedOut, .stopTimedOut, .memoryExceeded, .killed, .outOfMemory,
            .unknown:
            self
        }
    }

    fileprivate static func shortening(_ change: LifecycleChange) -> LifecycleChange {
        switch change {
        case .stopped(let reason): .stopped(reason.shortened)
        case .crashed(let reason): .crashed(reason.shortened)
        case .startFailed(let reason): .startFailed(reason.shortened)
        case .gaveUp(let reason): .gaveUp(reason.shortened)
        case .started, .restarted, .paused, .resumed: change
        }
    }
}

extension LifecycleRecord {
    var shortened: LifecycleRecord {
        var change = self
        change.path = path.shortened
        switch kind {
        case .lifecycle(let lifecycle): change.kind = .lifecycle(ExitReason.shortening(lifecycle))
        case .brokeRule(let rule): change.kind = .brokeRule(rule.shortened)
        case .stuck(let text): change.kind = .stuck(text.shortened)
        case .parked(let error): change.kind = .parked(error.shortened)
        case .health(let problem): change.kind = .health(problem: problem?.shortened)
        case .restarting, .adopted, .silent: break
        }
        return change
    }
}

extension TreeEvent {
    var shortened: TreeEvent {
        let kind: Kind =
            switch kind {
            case .lifecycle(let change): .lifecycle(ExitReason.shortening(change))
            case .handled(let message, let sender, let duration, let error):
                .handled(message: message.shortened, sender: sender.shortened, duration: duration, error: error?.shortened)
            case .event(let type): .event(type: type.shortened)
            case .dropped(let letter): .dropped(letter.shortened)
            }
        let trace = trace.map { TraceContext(traceparent: $0.traceparent.shortened) }
        return TreeEvent(path: path.shortened, processID: processID, trace: trace, kind: kind)
    }
}

extension MessageTraces.Report {
    var shortened: Self {
        var report = self
        report.trace = trace.shortened
        (report.hop.path, report.hop.sender) = (hop.path.shortened, hop.sender.shortened)
        (report.hop.type, report.hop.message, report.hop.error) = (hop.type.shortened, hop.message.shortened, hop.error?.shortened)
        return report
    }
}
