import Supervision

/// The transitions after the end of a life.
extension Model {
    mutating func hasEnded(_ index: Int, _ reason: ExitReason) throws(Violation) {
        let child = children[index]
        switch child.state {
        case .stopped, .waiting:
            return
        case .stopping(.stop):
            retire(index)
        case .stopping(.remove):
            forget(index)
            if child.isFinishing { hasEndedForGood(child) }
        case .stopping(.start):
            if child.launch == .first {
                children.append(children.remove(at: index))
                leaveSiblings(child.id)
                begin(children.count - 1, .first)
            } else {
                begin(index, child.launch)
            }
        case .stopping(.siblings):
            var until = now
            if case .stoppingSiblings(_, _, _, let at) = course { until = at }
            children[index].state = .waiting(until: until, appointment: nil)
        case .starting:
            if child.launch == .restart || child.specification.isRetriedAtFirstStart {
                try hasFailed(index, reason, isFailure: true)
            } else if child.launch == .first {
                forget(index)
            } else {
                retire(index)
            }
        case .ready(let since):
            if now - since >= backoff(of: child).resetAfter { children[index].attempts = 0 }
            try hasFailed(index, reason, isFailure: !reason.isNormal)
        }
    }

    /// Decides about a life that has ended by itself.
    private mutating func hasFailed(_ index: Int, _ reason: ExitReason, isFailure: Bool) throws(Violation) {
        let child = children[index]
        let type = child.specification.restart
        let isForGood = reason.isPermanentFailure && !isEnding
        if case .stoppingSiblings(_, let members, _, let at) = course, members.contains(child.id), type == .temporary || !isForGood {
            if type == .temporary { forget(index) } else { children[index].state = .waiting(until: at, appointment: nil) }
            return
        }
        guard !isEnding, !isForGood, type == .permanent || type == .transient && isFailure else {
            children[index].hasGivenUp = isForGood
            retire(index)
            return hasEndedForGood(child)
        }
        guard isAdmitted(child) else {
            children[index].hasGivenUp = true
            retire(index)
            if !isolatesFailures { end(.escalated) }
            return
        }
        children[index].attempts += 1
        let time = try restartTime(of: child.id)
        children[index].state = .waiting(until: time, appointment: nil)
        let affected: ArraySlice<Child> =
            switch policy.strategy {
            case .oneForOne: children[index...index]
            case .oneForAll: children[...]
            case .restForOne: children[index...]
            }
        if course == .steady, affected.count == 1 {
            guard time > now else { return begin(index, .restart) }
            appointments += 1
            children[index].state = .waiting(until: time, appointment: appointments)
        } else {
            restartTogether(affected.map(\.id))
        }
    }

    func period(of child: Child) -> Duration { child.specification.restartLimits?.period ?? policy.period }

    func backoff(of child: Child) -> Backoff { child.specification.restartLimits?.backoff ?? policy.backoff }

    /// Counts a restart, and returns whether it's within the intensity.
    private mutating func isAdmitted(_ child: Child) -> Bool {
        let limits = child.specification.restartLimits
        if limits?.intensity == .unlimited { return true }
        var intensity = policy.intensity
        if case .restarts(let count)? = limits?.intensity { intensity = count }
        let isAlone = isolatesFailures || limits?.intensity != nil || limits?.period != nil
        var counted = isAlone ? ownRestarts[child.id] ?? [] : restarts
        counted = counted.filter { $0 >= now - period(of: child) } + [now]
        if isAlone { ownRestarts[child.id] = counted } else { restarts = counted }
        return counted.count <= intensity
    }

    /// Returns the time that the supervisor has chosen.
    private func restartTime(of id: String) throws(Violation) -> Duration {
        for case .report(id, _, .restarting(_, let time)) in answer { return time }
        throw Violation(.model, "\(id) should have been restarted, and was left or given up")
    }

    private mutating func hasEndedForGood(_ child: Child) {
        guard child.specification.isSignificant else { return }
        switch policy.autoShutdown {
        case .never: break
        case .anySignificant: end(.automatic)
        case .allSignificant:
            if !children.contains(where: { $0.specification.isSignificant && $0.isActive }) { end(.automatic) }
        }
    }

    mutating func end(_ ending: Ending) {
        switch (course, ending) {
        case (.ended, _), (.ending(_, _, .terminated), _), (.ending, .escalated), (.ending, .automatic):
            return
        case (.ending(let turns, let isChain, _), .terminated):
            course = .ending(turns: turns, isChain: isChain, ending)
        case (.steady, _), (.stoppingSiblings, _), (.startingSiblings, _):
            let all = children.map(\.id)
            course = .ending(turns: all.reversed(), isChain: policy.stopOrder == .chain, ending)
            for id in all.reversed() {
                guard let index = index(id) else { continue }
                switch children[index].state {
                case .starting: tellToStop(index, .stop)
                case .stopping(.start), .stopping(.siblings): children[index].state = .stopping(.stop)
                case .waiting: retire(index)
                case .ready, .stopping, .stopped: break
                }
            }
            tellNext(all.reversed(), isChain: policy.stopOrder == .chain, breaksCircles: false)
        }
    }
}
