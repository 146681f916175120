import ConcurrencySupport

/// What a change of a child leads to: noted in its slot under the supervisor's lock, and told when the lock is free.
struct ChildTransition {
    let path: CoordinatorPath
    let incarnation: Incarnation
    let change: Supervisor<String>.Change

    /// What those hear who observe the child and have caused nothing.
    private(set) var observed: LifecycleChange?
    /// What the parent hears; nil for what it learns by return, because it has asked for it.
    private(set) var event: LifecycleChange?
    private(set) var starts: [ChildSlot.Start] = []
    private(set) var stops: [ChildSlot.Stop] = []
    private(set) var outcomes: [ChildSlot.Outcome] = []
    private(set) var watchers: [Envelope] = []
    /// Messages that wait for the child in vain.
    private(set) var hopeless: [ChildSlot.Parked] = []
    /// Why the start has failed, and the messages with it.
    private(set) var failure: (any Error)?
    /// The slot of a child that the machine has forgotten.
    var removed: ChildSlot?

    init(_ path: CoordinatorPath, _ incarnation: Incarnation, _ change: Supervisor<String>.Change) {
        self.path = path
        self.incarnation = incarnation
        self.change = change
    }

    /// A life has ended, and not merely been scheduled anew.
    var isEndOfLife: Bool { !change.isBeginning && !change.isPause }

    /// Notes the change in the slot, and takes from it whoever is to be told.
    ///
    /// - Parameter isAlive: whether the machine starts the child again, or has already.
    /// - Returns: whether the child has ended and isn't started again.
    mutating func enter(_ slot: inout ChildSlot, isAlive: Bool) -> Bool {
        var isEnd = false
        switch change {
        case .started, .restarted: begin(&slot)
        case .restarting(_, let time): wait(&slot, until: time)
        case .crashed(let reason): crash(&slot, reason)
        case .stopped(let reason) where isAlive, .startFailed(let reason) where isAlive: makeWay(&slot, reason)
        case .stopped(let reason), .startFailed(let reason), .gaveUp(let reason):
            end(&slot, reason)
            isEnd = true
        }
        if change.isStop || isEnd {
            // A stop may have been requested since the machine has decided what is only now told.
            stops = slot.stops.filter { $0.incarnation <= incarnation }
            slot.stops.removeAll { $0.incarnation <= incarnation }
        }
        if isEnd {
            // With the stops: whoever takes the key again once they are told must not get this life's outcome.
            let reason = slot.lastExit.map { "\($0)" } ?? "unknown"
            outcomes = slot.takeEnds(otherwise: CoordinatorError(.stopped, "\(path) has ended without finishing: \(reason)"))
        }
        if isEndOfLife {
            watchers = slot.watchers
            slot.watchers = []
        }
        return isEnd
    }

    private mutating func begin(_ slot: inout ChildSlot) {
        if let host = slot.host { slot.phase = .flushing(host) }
        slot.readySince = .now
        slot.lastError = nil
        takeStarts(&slot)
        let isRestart = change == .restarted
        observed = isRestart ? .restarted : .started
        event = isRestart || !slot.isStartedByParent ? observed : nil
        slot.isStartedByParent = false
    }

    private mutating func wait(_ slot: inout ChildSlot, until time: Duration) {
        slot.phase = .pending(nextAttempt: MonotonicTime(sinceOrigin: time))
        slot.host = nil
        slot.readySince = nil
        hopeless = slot.takeParked { $0.deadline.map { $0.sinceOrigin < time } ?? false }
        failure = CoordinatorError(.restarting, "\(path) is being restarted, later than the deadline")
    }

    private mutating func crash(_ slot: inout ChildSlot, _ reason: ExitReason) {
        slot.lastExit = reason
        slot.phase = .pending(nextAttempt: nil)
        slot.readySince = nil
        event = .crashed(reason)
        observed = event
    }

    /// It comes back: a permanent child has returned, a restart was asked for, or one has failed and is tried again.
    private mutating func makeWay(_ slot: inout ChildSlot, _ reason: ExitReason) {
        slot.lastExit = reason
        slot.phase = .pending(nextAttempt: nil)
        slot.readySince = nil
        observed = !change.isStop ? .startFailed(reason) : reason == .shutdown ? .stopped(reason) : .crashed(reason)
        event = slot.isStoppedByParent && reason == .shutdown ? nil : observed
        slot.isStoppedByParent = false
    }

    private mutating func end(_ slot: inout ChildSlot, _ reason: ExitReason) {
        slot.lastExit = reason
        slot.host = nil
        slot.readySince = nil
        slot.phase = .down(isFailed: !change.isStop)
        hopeless = slot.takeParked { _ in true }
        // A child that finishes within its start hook has started.
        if slot.output == nil {
            failure = slot.lastError ?? CoordinatorError(change.isStop ? .stopped : .startFailed, "\(path) has ended: \(reason)")
        }
        takeStarts(&slot)
        observed = change.event(reason)
        // Whoever runs it learns how it ended by return.
        let isRun = !slot.ends.isEmpty
        let isKnownToParent = isRun || (change.isStop ? slot.isStoppedByParent : change.isStartFailure && slot.isStartedByParent)
        event = isKnownToParent ? nil : observed
        slot.isStoppedByParent = false
    }

    private mutating func takeStarts(_ slot: inout ChildSlot) {
        starts = slot.starts
        slot.starts = []
    }
}

extension ChildSlot {
    fileprivate mutating func takeParked(where isHopeless: (Envelope) -> Bool) -> [Parked] {
        let hopeless = parked.filter { isHopeless($0.envelope) }
        removeParked(where: isHopeless)
        return hopeless
    }
}

extension Supervisor.Change {
    /// A life has begun.
    fileprivate var isBeginning: Bool { self == .started || self == .restarted }

    /// The next life is waited for; the former has ended before.
    fileprivate var isPause: Bool {
        if case .restarting = self { true } else { false }
    }

    /// The child has ended as it was told to or as it should.
    fileprivate var isStop: Bool {
        if case .stopped = self { true } else { false }
    }

    fileprivate var isStartFailure: Bool {
        if case .startFailed = self { true } else { false }
    }

    /// What everybody hears of an end who hasn't caused it.
    fileprivate func event(_ reason: ExitReason) -> LifecycleChange? {
        switch self {
        case .stopped: .stopped(reason)
        case .startFailed: .startFailed(reason)
        case .gaveUp: .gaveUp(reason)
        case .started, .restarted, .restarting, .crashed: nil
        }
    }

    /// How a life has ended.
    var exitReason: ExitReason? {
        switch self {
        case .stopped(let reason), .crashed(let reason), .startFailed(let reason), .gaveUp(let reason): reason
        case .started, .restarting, .restarted: nil
        }
    }
}
