import Supervision

/// The transitions at events.
extension Model {
    func index(_ id: String) -> Int? {
        children.firstIndex { $0.specification.id == id }
    }

    func index(_ id: String, _ incarnation: Incarnation) -> Int? {
        guard let index = index(id), children[index].incarnation == incarnation, children[index].isAlive else { return nil }
        return index
    }

    private func isRefused(_ specification: ChildSpecification) -> Bool {
        if case .timeout(let time) = specification.shutdown, time < .zero { return true }
        if let limits = specification.restartLimits, Self.isNonsense(limits) { return true }
        return specification.isSignificant && (specification.restart == .permanent || policy.autoShutdown == .never)
    }

    private static func isNonsense(_ limits: RestartLimits) -> Bool {
        if case .restarts(let count)? = limits.intensity, count < 0 { return true }
        if let period = limits.period, period <= .zero { return true }
        return limits.backoff.map { (try? $0.validate()) == nil } ?? false
    }

    mutating func handle(_ event: Machine.Event) throws(Violation) {
        switch event {
        case .startRequested(let specification):
            guard !isEnding else { return }
            if isRefused(specification) { return expectedDirectives.append(.refused(specification.id)) }
            start(specification)
        case .specificationChanged(let specification):
            guard !isEnding else { return }
            if isRefused(specification) { return expectedDirectives.append(.refused(specification.id)) }
            guard let index = index(specification.id) else { return }
            children[index].specification = specification
            if children[index].state == .stopped { retire(index) }
        case .stopRequested(let id):
            if !isEnding, let index = index(id) { stop(index, removing: false) }
        case .removeRequested(let id):
            if !isEnding, let index = index(id) { stop(index, removing: true) }
        case .restartRequested(let id):
            if !isEnding, let index = index(id) { restart(index) }
        case .started(let id, let incarnation):
            guard let index = index(id, incarnation), case .starting = children[index].state else { return }
            children[index].state = .ready(since: now)
        case .startFailed(let id, let incarnation, let reason), .exited(let id, let incarnation, let reason):
            if let index = index(id, incarnation) { try hasEnded(index, reason) }
        case .finished(let id, let incarnation):
            guard !isEnding, let index = index(id, incarnation) else { return }
            if case .stopping = children[index].state {
                children[index].state = .stopping(.remove)
            } else {
                children[index].isFinishing = true
                tellToStop(index, .remove)
            }
        case .timePassed:
            startWhatIsDue()
        case .shutdownRequested(let reason):
            end(.terminated(reason))
        case .policyChanged(let policy):
            if (try? policy.validate()) == nil { expectedDirectives.append(.refused(nil)) } else { self.policy = policy }
        }
    }

    mutating func start(_ specification: ChildSpecification) {
        guard let index = index(specification.id) else {
            children.append(Child(specification: specification, state: .stopped, incarnation: last[specification.id] ?? 0))
            return begin(children.count - 1, .first)
        }
        switch children[index].state {
        case .starting, .ready, .waiting:
            break
        case .stopped:
            children[index].specification = specification
            children[index].attempts = 0
            begin(index, .again)
        case .stopping(let follow):
            children[index].specification = specification
            guard follow == .stop || follow == .remove else { return }
            children[index].attempts = 0
            children[index].launch = follow == .stop ? .again : .first
            children[index].state = .stopping(.start)
        }
    }

    mutating func stop(_ index: Int, removing: Bool) {
        switch children[index].state {
        case .starting, .ready: tellToStop(index, removing ? .remove : .stop)
        case .stopping(.remove): break
        case .stopping: children[index].state = .stopping(removing ? .remove : .stop)
        case .waiting: if removing { forget(index) } else { retire(index) }
        case .stopped: if removing { forget(index) }
        }
    }

    mutating func restart(_ index: Int) {
        switch children[index].state {
        case .starting, .ready:
            tellToStop(index, .start)
        case .stopping(.stop):
            children[index].state = .stopping(.start)
        case .stopping:
            return
        case .waiting, .stopped:
            leaveSiblings(children[index].id)
            children[index].attempts = 0
            begin(index, .restart)
        }
        children[index].attempts = 0
        children[index].launch = .restart
    }

    private mutating func startWhatIsDue() {
        while true {
            var next: (index: Int, time: Duration, appointment: Int)?
            for index in children.indices {
                guard case .waiting(let time, let appointment?) = children[index].state, time <= now else { continue }
                if let next, (next.time, next.appointment) < (time, appointment) { continue }
                next = (index, time, appointment)
            }
            guard let next, !isEnding else { return }
            begin(next.index, .restart)
        }
    }
}
