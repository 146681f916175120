import ConcurrencySupport
import Logging
import Processes
import Supervision

/// The consequences of a change of a child: noted in its slot under the supervisor's lock, and reported when the lock is free.
struct ChildTransition {
    let parent: CoordinatorPath
    let key: String
    let incarnation: Incarnation
    let change: Supervisor.Change
    private let time: TimeSource

    /// The change for the observers, which haven't caused it.
    private(set) var observed: LifecycleChange?
    /// The change that the parent gets as an event; `nil` for a change that it has requested, whose outcome its call returns.
    private(set) var event: LifecycleChange?
    private(set) var starts: [ChildSlot.Start] = []
    private(set) var stops: [ChildSlot.Stop] = []
    private(set) var outcomes: [ChildSlot.Outcome] = []
    private(set) var watchers: [Envelope] = []
    /// The waits for the way in which the life has ended.
    private(set) var endWaits: (waits: [OneShot<IncarnationEnd>], way: IncarnationEnd) = ([], .asWanted)
    /// The messages that wait for the child and can't be delivered.
    private(set) var hopeless: [ParkedMessage] = []
    /// The error with which the start has failed.
    private(set) var failure: (any Error)?
    /// The error with which the messages end: none of a hook, which they would take for one of their handlers.
    private(set) var refusal: CoordinatorError?
    /// The processes that waited for a next life of a child that isn't started again.
    private(set) var spares: SparePool?
    /// The slot of a child that the machine has forgotten.
    var removed: Box<ChildSlot>?
    /// Whether the child has observers that get the change.
    private(set) var isObserved = false
    /// Whether messages have waited for the child, and are to be delivered now.
    private(set) var mustFlush = false
    /// The child's process, if it has one of its own.
    private(set) var processID: Int32?
    private var hasProcess = false

    init(_ key: String, under parent: CoordinatorPath, _ incarnation: Incarnation, _ change: Supervisor.Change, at time: TimeSource) {
        self.parent = parent
        self.key = key
        self.incarnation = incarnation
        self.change = change
        self.time = time
    }

    /// The child's path, made when it's needed: a start without observers needs none.
    var path: CoordinatorPath { parent.appending(key) }

    /// Whether a life has ended, rather than only been scheduled anew.
    var isEndOfLife: Bool { change.exitReason != nil }

    /// Notes the change in the slot, and removes from it the callers that get an answer.
    ///
    /// - Parameter isAlive: Whether the machine starts the child again, or has already.
    /// - Returns: Whether the child has ended and isn't started again.
    mutating func enter(_ slot: inout ChildSlot, isAlive: Bool) -> Bool {
        slot.withRecord { slot, record in enter(&slot, &record, isAlive) }
    }

    private mutating func enter(_ slot: inout ChildSlot, _ record: inout ChildSlot.Record, _ isAlive: Bool) -> Bool {
        var isEnd = false
        hasProcess = slot.registration.definition.hasProcess
        if hasProcess { processID = slot.host?.process?.processID }
        switch change {
        case .started, .restarted: recordStart(&slot, &record)
        case .restarting(_, let time): wait(&slot, &record, until: time)
        case .crashed(let reason): crash(&slot, &record, reason)
        case .stopped(let reason) where isAlive, .startFailed(let reason) where isAlive: makeWay(&slot, &record, reason)
        case .stopped(let reason), .startFailed(let reason), .gaveUp(let reason):
            end(&slot, &record, reason)
            isEnd = true
        }
        if change.isStop || isEnd {
            // A stop may have been requested after the machine took the decision that is reported only now.
            stops = record.stops.filter { $0.incarnation <= incarnation }
            record.stops.removeAll { $0.incarnation <= incarnation }
        }
        if isEnd, !record.ends.isEmpty {
            // The ends are taken with the stops: a caller that takes the key again after them must not get this incarnation's outcome.
            let reason = record.lastExit.map { "\($0)" } ?? "unknown"
            outcomes = record.takeEnds(otherwise: CoordinatorError(.stopped, "\(path) has ended without finishing: \(reason)"))
        }
        if let reason = change.exitReason {
            endWaits = record.note(endOf: incarnation, reason)
            record.stoppingSince = nil
            watchers = Array(record.watchers.values)
            record.watchers = [:]
        }
        isObserved = !record.observers.all.isEmpty
        return isEnd
    }

    private mutating func recordStart(_ slot: inout ChildSlot, _ record: inout ChildSlot.Record) {
        if let host = slot.host {
            let life = ChildSlot.Occupant(host: host, readySince: host.readyBefore ?? time.now)
            mustFlush = record.parking.isBusy
            slot.phase = mustFlush ? .flushing(life) : .active(life)
        }
        record.lastError = nil
        takeStarts(&record)
        observed = change.event
        event = change == .restarted || slot.startInitiator != .parent ? observed : nil
        slot.startInitiator = nil
    }

    private mutating func wait(_ slot: inout ChildSlot, _ record: inout ChildSlot.Record, until time: Duration) {
        let phase = ChildSlot.Phase.vacant(nextAttempt: MonotonicTime(sinceOrigin: time))
        slot.phase = phase
        hopeless = record.parking.remove { phase.isVacant(beyond: $0.deadline) }
        let cause = record.lastExit.map { "; its last life: \($0)" } ?? ""
        refusal = .restartsLate(path, cause)
    }

    private mutating func crash(_ slot: inout ChildSlot, _ record: inout ChildSlot.Record, _ reason: ExitReason) {
        record.lastExit = reason
        slot.phase.holdUnready()
        event = change.event
        observed = event
    }

    /// Prepares the next incarnation: a permanent child has returned, a restart was requested, or a failed start is tried again.
    private mutating func makeWay(_ slot: inout ChildSlot, _ record: inout ChildSlot.Record, _ reason: ExitReason) {
        record.lastExit = reason
        slot.phase.holdUnready()
        observed = !change.isStop ? .startFailed(reason) : reason == .shutdown ? .stopped(reason) : .crashed(reason)
        event = record.stopInitiator == .parent && reason == .shutdown ? nil : observed
        record.stopInitiator = nil
        if !change.isStop, let handover = record.handover, incarnation > handover.former { failHandover(&record, handover, reason) }
    }

    /// Tells the caller of a handover that the next life has failed to start; the supervision's rules decide what follows.
    private mutating func failHandover(
        _ record: inout ChildSlot.Record,
        _ handover: ChildSlot.Handover,
        _ reason: ExitReason
    ) {
        starts = [handover.start]
        record.starts.removeAll { $0 === handover.start }
        failure = record.lastError ?? CoordinatorError(.startFailed, "\(path) could not be started: \(reason)")
    }

    private mutating func end(_ slot: inout ChildSlot, _ record: inout ChildSlot.Record, _ reason: ExitReason) {
        record.lastExit = reason
        slot.phase = .down(isFailed: !change.isStop)
        hopeless = record.parking.removeAll()
        spares = record.spares
        record.spares = nil
        takeStarts(&record)
        // A child that finishes within its start hook has started.
        if record.output == nil, !starts.isEmpty {
            failure = record.lastError ?? CoordinatorError(change.isStop ? .stopped : .startFailed, "\(path) has ended: \(reason)")
        }
        if !hopeless.isEmpty {
            let dismissal = (record.lastError as? CoordinatorError).flatMap { $0.code == .dismissed ? $0 : nil }
            refusal = dismissal ?? CoordinatorError(change.codeOfRefusal, "\(path) has ended: \(reason)")
        }
        observed = change.event
        let isByParent = change.isStop ? record.stopInitiator == .parent : isFailedStartByParent(slot)
        // The caller of `run` gets the end as the result of its call.
        event = record.isRun || isByParent ? nil : observed
        record.stopInitiator = nil
    }

    private func isFailedStartByParent(_ slot: ChildSlot) -> Bool {
        if case .startFailed = change { slot.startInitiator == .parent } else { false }
    }

    private mutating func takeStarts(_ record: inout ChildSlot.Record) {
        starts = record.starts
        record.starts = []
    }
}

extension ChildTransition {
    /// The change as the root's process learns of it; `nil` if it doesn't.
    func reported(at now: MonotonicTime) -> LifecycleRecord.Kind? {
        switch change {
        case .started, .stopped:
            guard hasProcess, let event = change.event else { return nil }
            return .lifecycle(event)
        case .restarting(let attempt, let time): return .restarting(attempt: attempt, delay: max(.zero, time - now.sinceOrigin))
        case .restarted, .crashed, .startFailed, .gaveUp: return change.event.map { .lifecycle($0) }
        }
    }
}

extension ChildDefinition {
    /// Whether the child has a process of its own.
    var hasProcess: Bool {
        switch kind {
        case .program: true
        case .coordinator: isInWorker
        }
    }
}

extension Supervisor.Change {
    /// Whether the change is an end as requested or as expected.
    fileprivate var isStop: Bool {
        if case .stopped = self { true } else { false }
    }

    /// The code of the error for messages that have waited for the child.
    fileprivate var codeOfRefusal: CoordinatorError.Code {
        switch self {
        case .gaveUp, .crashed: .failed
        case .startFailed: .startFailed
        case .started, .restarting, .restarted, .stopped: .stopped
        }
    }

    /// The event for all observers that haven't caused the change; `nil` for a wait, which an event precedes and another follows.
    var event: LifecycleChange? {
        switch self {
        case .started: .started
        case .restarted: .restarted
        case .stopped(let reason): .stopped(reason)
        case .crashed(let reason): .crashed(reason)
        case .startFailed(let reason): .startFailed(reason)
        case .gaveUp(let reason): .gaveUp(reason)
        case .restarting: nil
        }
    }

    /// The exit reason of an end.
    var exitReason: ExitReason? {
        switch self {
        case .stopped(let reason), .crashed(let reason), .startFailed(let reason), .gaveUp(let reason): reason
        case .started, .restarting, .restarted: nil
        }
    }
}

// MARK: - A change in words

/// What a log says of a change: a predicate whose subject is the child's path, and a word that stays the same whatever its reason is.
struct ChangeDescription {
    let name: String
    let predicate: String
    var reason: ExitReason?

    init(_ change: Supervisor.Change, at now: MonotonicTime) {
        switch change {
        case .restarting(let attempt, let time):
            let delay = max(.zero, time - now.sinceOrigin)
            self.init(name: "restarting", predicate: "is restarted in \(delay) (restart \(attempt) in a row)")
        case .started: self.init(.started)
        case .restarted: self.init(.restarted)
        case .stopped(let reason): self.init(.stopped(reason))
        case .crashed(let reason): self.init(.crashed(reason))
        case .startFailed(let reason): self.init(.startFailed(reason))
        case .gaveUp(let reason): self.init(.gaveUp(reason))
        }
    }

    private init(name: String, predicate: String) {
        (self.name, self.predicate) = (name, predicate)
    }

    init(_ change: LifecycleChange) {
        reason = change.exitReason
        (name, predicate) =
            switch change {
            case .started: ("started", "is ready")
            case .stopped(let reason): ("stopped", "stopped: \(reason)")
            case .crashed(let reason): ("crashed", "crashed: \(reason)")
            case .restarted: ("restarted", "is ready again")
            case .paused: ("paused", "is paused")
            case .resumed: ("resumed", "goes on")
            case .startFailed(let reason): ("start_failed", "could not be started: \(reason)")
            case .gaveUp(let reason): ("gave_up", "was given up: \(reason)")
            }
    }

    func metadata(_ path: CoordinatorPath, _ processID: Int32?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["coordinator.path": "\(path)", "change": "\(name)"]
        metadata["pid"] = processID.map { .stringConvertible($0) }
        metadata["code"] = (reason?.exitCode).map { .stringConvertible($0) }
        metadata["signal"] = (reason?.signal).map { .stringConvertible($0) }
        return metadata
    }
}

extension LifecycleChange {
    /// The exit reason of an end.
    package var exitReason: ExitReason? {
        switch self {
        case .stopped(let reason), .crashed(let reason), .startFailed(let reason), .gaveUp(let reason): reason
        case .started, .restarted, .paused, .resumed: nil
        }
    }
}
