import ConcurrencySupport
import Logging
import Supervision
import Synchronization
import WireProtocol

/// A receiver of messages whose handlers are watched when their messages were cancelled.
protocol WatchedReceiver: MessageReceiver {
    var incarnation: Incarnation { get }
    var logger: Logger { get }
    /// See ``Coordinator/cancellationGrace``.
    var cancellationGrace: Duration { get }
    /// The coordinators of this process in a row of which a handler may be, as part of its own task: this one, and those above it.
    var placesOfHandlers: [any WatchedReceiver] { get }
    /// Whether a row that doesn't await is handling a message from the mailbox, or is about to.
    var handlesAnyAtOnce: Bool { get }

    func overrun(of subject: HandlerWatch.Subject) -> HandlerWatch.Overrun

    /// Notes that a handler is stuck, or that another coordinator is to blame for it than was noted.
    ///
    /// - Parameter culprit: The coordinator that is to blame, if it's another one.
    /// - Returns: False if it has ended meanwhile.
    func noteStuck(_ subject: HandlerWatch.Subject, culprit: (any WatchedReceiver)?) -> Bool

    /// Has the process do what is to be done about a handler that is stuck; on the timers' thread, which it must not block.
    func tell(_ verdict: HandlerWatch.Verdict)
}

/// The watch over the handlers of a process whose messages were cancelled: one that runs on for its type's ``Coordinator/cancellationGrace`` is
/// stuck.
///
/// The timers' thread looks and decides, since a handler may block all threads on which tasks run. It looks only while such a handler runs: a
/// message that isn't cancelled costs nothing here.
final class HandlerWatch: Sendable {
    /// A handler whose message was cancelled.
    struct Subject: Sendable {
        weak let receiver: (any WatchedReceiver)?
        let envelope: Envelope
        /// The number of the handler; `nil`: a row that doesn't await, which runs in a task with others.
        let handler: UInt64?

        init(of receiver: any WatchedReceiver, envelope: Envelope, handler: UInt64?) {
            (self.receiver, self.envelope, self.handler) = (receiver, envelope, handler)
        }
    }

    /// The progress of a handler whose message was cancelled.
    enum Overrun { case ended, running, waitingForChild }

    private struct Entry: Sendable {
        let subject: Subject
        let grace: Duration
        /// The time at which the handler was cancelled, or has stopped waiting for a child, as the process has been awake.
        var since: Duration
        /// The jobs that shortly before the verdict show whose executor is blocked.
        var probes: Probes?
        /// Whether there is a verdict, which blames the handler's own coordinator until a thread is free to tell who blocks one.
        var isDecided = false
    }

    /// A coordinator, and whether its executor has run a job.
    private final class Probe: Sendable {
        let receiver: any WatchedReceiver
        let isAnswered = Atomic(false)

        init(_ receiver: any WatchedReceiver) { self.receiver = receiver }
    }

    /// Jobs on the executors of the coordinators in one of whose rows a handler may be.
    private struct Probes: Sendable {
        let all: [Probe]
        /// Whether a thread was free after the jobs had begun: until then the others may only wait for a thread.
        let control = Control()

        final class Control: Sendable {
            let isAnswered = Atomic(false)
        }

        init(_ receivers: [any WatchedReceiver], _ pass: ThreadProbe) {
            all = receivers.map { Probe($0) }
            for probe in all { Task.detached { await probe.receiver.passExecutor { probe.isAnswered.store(true, ordering: .relaxed) } } }
            pass { [control] in control.isAnswered.store(true, ordering: .relaxed) }
        }
    }

    /// Calls a function when a thread of the pool has gone by an executor that is free.
    typealias ThreadProbe = @Sendable (_ hasPassed: @escaping @Sendable () -> Void) -> Void

    /// The time for which a verdict waits for a free thread, without which nothing tells who blocks one from who waits for one.
    private static let longestWait = Duration.seconds(2)

    private struct State {
        var entries: [Entry] = []
        var awake = AwakeTime()
        var isLooking = false
    }

    /// A handler that is stuck.
    struct Verdict: Sendable {
        /// The coordinator that is to blame.
        let receiver: any WatchedReceiver
        let message: MessageInfo
        let grace: Duration

        /// What has happened, in words.
        var description: String {
            "a handler of \(message.name) at \(message.path), asked by \(message.sender), has run on for \(grace) past its cancellation"
        }
    }

    private let time: TimeSource
    private let passThread: ThreadProbe
    private let state = Lock(State())

    init(_ time: TimeSource, passThread: @escaping ThreadProbe = HandlerWatch.passFreeExecutor) {
        (self.time, self.passThread) = (time, passThread)
    }

    private actor FreeExecutor {
        func run(_ job: @Sendable () -> Void) { job() }
    }

    private static func passFreeExecutor(_ hasPassed: @escaping @Sendable () -> Void) {
        let executor = FreeExecutor()
        Task.detached { await executor.run(hasPassed) }
    }

    /// Watches a handler from now on.
    func add(_ subject: Subject) {
        guard let grace = subject.receiver?.cancellationGrace else { return }
        let begins = state.withLock { state in
            state.awake.pass(until: time.now)
            state.entries.append(Entry(subject: subject, grace: grace, since: state.awake.elapsed))
            defer { state.isLooking = true }
            return !state.isLooking
        }
        if begins { lookLater() }
    }

    private func lookLater() { _ = time.schedule(at: time.now + AwakeTime.step) { [weak self] in self?.look() } }

    private func look() {
        let (entries, now) = state.withLock { state in
            state.awake.pass(until: time.now)
            defer { state.entries = [] }
            return (state.entries, state.awake.elapsed)
        }
        let rest = entries.compactMap { judge($0, now) }
        let goesOn = state.withLock { state in
            state.entries += rest
            state.isLooking = !state.entries.isEmpty
            if !state.isLooking { state.awake.rest() }
            return state.isLooking
        }
        if goesOn { lookLater() }
    }

    /// - Returns: The handler as it's to be watched on; `nil` when it has ended, or is stuck.
    private func judge(_ entry: Entry, _ now: Duration) -> Entry? {
        guard let receiver = entry.subject.receiver else { return nil }
        var entry = entry
        switch receiver.overrun(of: entry.subject) {
        case .ended: return nil
        case .waitingForChild: (entry.since, entry.probes) = (now, nil)
        case .running: break
        }
        let overrun = now - entry.since
        // Nothing blocks the only thread of a virtual time.
        guard time.virtual == nil else {
            if overrun >= entry.grace { decide(entry, receiver, culprit: nil) }
            return overrun >= entry.grace ? nil : entry
        }
        if entry.probes == nil, overrun >= entry.grace - AwakeTime.step * 3 {
            entry.probes = Probes(receiver.placesOfHandlers, passThread)
        }
        guard let probes = entry.probes, overrun >= entry.grace else { return entry }
        if probes.control.isAnswered.load(ordering: .relaxed) {
            let culprit = culprit(among: probes.all)
            if !entry.isDecided || culprit != nil { decide(entry, receiver, culprit: culprit) }
            return nil
        }
        // Whoever blocks the threads keeps even this from being found out, and the process is told to be in a bad state all the same.
        if !entry.isDecided, overrun >= entry.grace + Self.longestWait {
            decide(entry, receiver, culprit: nil)
            entry.isDecided = true
        }
        return entry
    }

    /// Returns the coordinator that is to blame for a handler, if it's another one.
    ///
    /// A handler that blocks its own coordinator waits for no other. One that waits in a row above leaves its own free, and that row isn't one
    /// of a message from the mailbox.
    private func culprit(among probes: [Probe]) -> (any WatchedReceiver)? {
        guard probes.first?.isAnswered.load(ordering: .relaxed) == true else { return nil }
        return probes.dropFirst().first { !$0.isAnswered.load(ordering: .relaxed) && !$0.receiver.handlesAnyAtOnce }?.receiver
    }

    private func decide(_ entry: Entry, _ receiver: any WatchedReceiver, culprit: (any WatchedReceiver)?) {
        guard receiver.noteStuck(entry.subject, culprit: culprit) else { return }
        let message = MessageInfo(entry.subject.envelope, handledBy: receiver)
        receiver.tell(Verdict(receiver: culprit ?? receiver, message: message, grace: entry.grace))
    }
}

/// The time for which a process has been awake, in steps.
///
/// A step that takes longer than it should shows that the process was stopped, by a signal, a debugger or its machine, or got no processor: of
/// such a step only a part counts.
struct AwakeTime {
    static let step = Duration.milliseconds(50)

    private(set) var elapsed = Duration.zero
    private var latest: MonotonicTime?

    mutating func pass(until now: MonotonicTime) {
        if let latest { elapsed += min(max(now - latest, .zero), Self.step * 2) }
        latest = now
    }

    /// Notes that nothing is measured until the next step begins.
    mutating func rest() { latest = nil }
}
