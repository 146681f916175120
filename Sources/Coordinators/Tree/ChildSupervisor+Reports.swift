import Synchronization

extension ChildSupervisor {
    /// What the machine has noticed becomes what handles, waiters and the coordinator see.
    func report(_ key: String, _ incarnation: Incarnation, _ change: Supervisor<String>.Change) {
        var starts: [ChildSlot.Start] = []
        var failure: (any Error)?
        var parked: [ChildSlot.Parked] = []
        var mustFlush = false
        var stops: [Ending<Void>] = []
        var event: LifecycleChange?
        /// The same for those who have caused nothing.
        var observed: LifecycleChange?
        var comesBack = false
        var outcomes: [ChildSlot.Outcome] = []
        var removed: ChildSlot?
        var watchers: [Envelope] = []
        let path = node.path.appending(key)
        var typeName = ""
        state.withLock { state in
            guard var slot = state.slots[key] else { return }
            typeName = slot.definition.typeName
            switch change {
            case .started, .restarted:
                if let host = slot.host { slot.phase = .flushing(host) }
                slot.readySince = .now
                slot.lastError = nil
                mustFlush = true
                starts = slot.starts
                slot.starts = []
                observed = change == .restarted ? .restarted : .started
                event = change == .restarted ? .restarted : (slot.isStartedByParent ? nil : .started)
                slot.isStartedByParent = false
            case .restarting(_, let time):
                slot.phase = .pending(nextAttempt: MonotonicTime(sinceOrigin: time))
                slot.host = nil
                slot.readySince = nil
                parked = slot.takeParked { $0.deadline.map { $0.sinceOrigin < time } ?? false }
                failure = CoordinatorError(.restarting, "\(path) is being restarted, later than the deadline")
            case .crashed(let reason):
                slot.lastExit = reason
                slot.phase = .pending(nextAttempt: nil)
                slot.readySince = nil
                event = .crashed(reason)
                observed = event
            case .stopped(let reason) where state.isAlive(key), .startFailed(let reason) where state.isAlive(key):
                // It comes back: a permanent child has returned, a restart was asked for, or one has failed and is tried again.
                slot.lastExit = reason
                slot.phase = .pending(nextAttempt: nil)
                slot.readySince = nil
                event = !change.isStop ? .startFailed(reason) : reason == .shutdown ? .stopped(reason) : .crashed(reason)
                observed = event
                if slot.isStoppedByParent, reason == .shutdown { event = nil }
                slot.isStoppedByParent = false
                comesBack = true
            case .stopped(let reason), .startFailed(let reason), .gaveUp(let reason):
                slot.lastExit = reason
                slot.host = nil
                slot.readySince = nil
                slot.phase = .down(isFailed: !change.isStop)
                parked = slot.takeParked { _ in true }
                // A child that finishes within its start hook has started.
                if slot.output == nil {
                    failure = slot.lastError ?? CoordinatorError(change.isStop ? .stopped : .startFailed, "\(path) has ended: \(reason)")
                }
                starts = slot.starts
                slot.starts = []
                event = slot.event(for: change, reason)
                observed = change.event(reason)
                slot.isStoppedByParent = false
            }
            if !change.isBeginning {
                stops = slot.stops
                slot.stops = []
            }
            if !change.isProgress, !comesBack {
                // With the stops: whoever takes the key again once they are told must not get this life's outcome.
                let reason = slot.lastExit.map { "\($0)" } ?? "unknown"
                outcomes = slot.takeEnds(otherwise: CoordinatorError(.stopped, "\(path) has ended without finishing: \(reason)"))
            }
            if !change.isBeginning, !change.isPause {
                watchers = slot.watchers
                slot.watchers = []
            }
            // The key is free before anybody hears of the end.
            let isForgotten = !change.isProgress && !comesBack && state.machine.state(of: key) == nil
            if isForgotten { removed = slot }
            state.slots[key] = isForgotten ? nil : slot
        }
        if !change.isBeginning, !change.isPause { node.rewind(path) }
        removed?.spares?.end()
        let termination = Termination(path: path, incarnation: incarnation, reason: change.exitReason ?? .unknown)
        for watcher in watchers { watcher.complete(.success(.value(termination))) }
        if let observed, removed == nil { notify(key, .change(observed)) }
        for observer in removed?.observers.all ?? [] {
            if let observed { observer.deliver(.change(observed)) }
        }
        end(removed?.observers.all ?? [])
        for stop in stops { stop.settle(()) }
        for message in parked { message.envelope.end(.failure(failure ?? CoordinatorError.hasStopped(path))) }
        for start in starts { start.settle(failure.map { .failure($0) } ?? .success(())) }
        if mustFlush { flush(key) }
        for outcome in outcomes { outcome.tell() }
        node.runtime.childChanged(path, change)
        if let event, !node.type.table.lifecycle.isEmpty {
            node.post(.lifecycle(AnyChild(supervisor: self, key: key, typeName: typeName), event))
        }
    }

    /// Delivers what has waited for the child, before anything that is sent now.
    func flush(_ key: String) {
        while true {
            let next = state.withLock { state -> (any ChildHost, [ChildSlot.Parked])? in
                guard case .flushing(let host) = state.slots[key]?.phase else { return nil }
                let parked = state.slots[key]?.parked ?? []
                state.slots[key]?.parked = []
                if parked.isEmpty { state.slots[key]?.phase = .active(host) }
                return parked.isEmpty ? nil : (host, parked)
            }
            guard let (host, parked) = next else { return }
            for message in parked where !message.envelope.hasEnded {
                host.deliver(message.envelope, to: message.rest, isDirect: message.isDirect)
            }
        }
    }
}

extension Supervisor.Change {
    /// The child has ended as it was told to or as it should.
    fileprivate var isStop: Bool {
        if case .stopped = self { return true }
        return false
    }

    /// The next life is waited for; the former has ended before.
    fileprivate var isPause: Bool {
        if case .restarting = self { return true }
        return false
    }

    /// What everybody hears who hasn't caused it.
    fileprivate func event(_ reason: ExitReason) -> LifecycleChange? {
        switch self {
        case .stopped: .stopped(reason)
        case .startFailed: .startFailed(reason)
        case .gaveUp: .gaveUp(reason)
        case .started, .restarted, .restarting, .crashed: nil
        }
    }

    /// How a life has ended.
    fileprivate var exitReason: ExitReason? {
        switch self {
        case .stopped(let reason), .crashed(let reason), .startFailed(let reason), .gaveUp(let reason): reason
        case .started, .restarting, .restarted: nil
        }
    }

    /// A life has begun.
    fileprivate var isBeginning: Bool { self == .started || self == .restarted }

    /// The child lives or comes back.
    fileprivate var isProgress: Bool {
        switch self {
        case .started, .restarted, .restarting, .crashed: true
        case .stopped, .startFailed, .gaveUp: false
        }
    }
}

extension ChildSlot {
    fileprivate mutating func takeParked(where isHopeless: (Envelope) -> Bool) -> [Parked] {
        let hopeless = parked.filter { isHopeless($0.envelope) }
        parked.removeAll { isHopeless($0.envelope) }
        return hopeless
    }

    fileprivate func event(for change: Supervisor<String>.Change, _ reason: ExitReason) -> LifecycleChange? {
        switch change {
        case .stopped: isStoppedByParent ? nil : .stopped(reason)
        case .startFailed: isStartedByParent ? nil : .startFailed(reason)
        case .gaveUp: .gaveUp(reason)
        case .started, .restarted, .restarting, .crashed: nil
        }
    }
}
