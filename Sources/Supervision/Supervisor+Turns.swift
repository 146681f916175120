/// What is done to several children, one after the other.
extension Supervisor {
    /// Lets all children stop, the latest first, and ends then.
    ///
    /// Those that are only starting are told at once: they would be ready one after the other before their turns came.
    ///
    /// An ending that is under way is not begun again; a request to end makes a failure that was to be escalated an ordinary end, and
    /// an end of itself one that was asked for.
    mutating func end(_ ending: Ending) {
        switch (course, ending) {
        case (.ended, _), (.ending, .escalated), (.ending, .automatic), (.ending(_, .terminated), .terminated):
            break
        case (.ending(let turns, .escalated), .terminated), (.ending(let turns, .automatic), .terminated):
            course = .ending(turns, ending)
        case (.steady, _), (.stoppingSiblings, _), (.startingSiblings, _):
            let all = ids
            course = .ending(Turns(all.reversed()), ending)
            for id in all.reversed() {
                cancelStarts(of: id)
            }
        }
    }

    /// A stop wins over every start that is under way or was to follow.
    private mutating func cancelStarts(of id: ID) {
        guard let child = table[id] else { return }
        switch child.state {
        case .starting(let incarnation):
            stop(child, incarnation, then: .stop)
        case .stopping(let incarnation, .start), .stopping(let incarnation, .restartWithSiblings):
            setState(of: child.place, .stopping(incarnation, then: .stop))
        case .waiting:
            report(child.place, .stopped(.shutdown))
            retire(child.place)
        case .running, .stopping(_, .stop), .stopping(_, .remove), .stopped:
            break
        }
    }

    /// Stops the children, the latest first, and starts them then in start order.
    ///
    /// One such restart takes in another that is under way.
    mutating func restartTogether(_ affected: [ID]) {
        let isAffected = Set(affected)
        var members = isAffected
        switch course {
        case .steady, .ending, .ended: break
        case .stoppingSiblings(_, let siblings): members.formUnion(siblings.members)
        case .startingSiblings(let turns, _): members.formUnion(turns.remaining.filter(isWaiting))
        }
        let inOrder = members.count == affected.count ? affected : ids.filter(members.contains)
        // Nobody's backoff is cut short by a sibling's.
        let at = inOrder.reduce(now) { latest, id in
            guard case .waiting(let time, _) = table[id]?.state else { return latest }
            return max(latest, time)
        }
        for id in inOrder {
            guard let child = table[id] else { continue }
            join(child, at: at, isAffected: isAffected.contains(id))
        }
        // Without those that have been forgotten just now.
        let joined = inOrder.filter { table[$0] != nil }
        course = .stoppingSiblings(Turns(joined.reversed()), Siblings(inOrder: joined, members: Set(joined), at: at))
    }

    /// Lets a child that isn't alive, or won't be for long, take part in a restart of siblings.
    ///
    /// All of them means those as well that were stopped before (OTP's supervisor.erl, `start_children`), but not one that was stopped
    /// while an earlier restart was under way that this one takes in.
    private mutating func join(_ child: Child<ID>, at time: Duration, isAffected: Bool) {
        let isTemporary = child.specification.restart == .temporary
        switch child.state {
        case .starting, .running, .stopping(_, .remove), .stopping(_, .start), .stopping(_, .restartWithSiblings):
            break  // Its turn comes, or its time is over.
        case .stopping(let incarnation, .stop):
            if isAffected, !isTemporary { setState(of: child.place, .stopping(incarnation, then: .restartWithSiblings)) }
        case .waiting where isTemporary:
            report(child.place, .stopped(.shutdown))
            forget(child.place)
        case .stopped where isTemporary:
            forget(child.place)
        case .stopped where child.hasGivenUp || !isAffected:
            break
        case .stopped:
            table.update(child.place) { $0.attempts = 0 }
            wait(child.place, until: time)
        case .waiting:
            wait(child.place, until: time)
        }
    }

    /// A child that is forgotten has no part in a restart of siblings any more, even if its id comes again.
    mutating func leaveSiblings(_ id: ID) {
        guard case .stoppingSiblings(let turns, var siblings) = course else { return }
        course = .steady  // So that the set isn't copied.
        siblings.members.remove(id)
        course = .stoppingSiblings(turns, siblings)
    }

    private func isWaiting(_ id: ID) -> Bool {
        if case .waiting = table[id]?.state { true } else { false }
    }

    mutating func stopHasEnded(_ child: Child<ID>, _ reason: ExitReason, _ follow: ChildState.Follow) {
        report(child.place, .stopped(reason))
        switch follow {
        case .stop:
            retire(child.place)
        case .remove:
            forget(child.place)
            if child.isFinishing { hasEndedForGood(child) }
        case .start:
            var place = child.place
            if child.launch == .first, let removed = table.remove(place) {
                // It was removed and is wanted again: the last to come is the first to go.
                place = table.append(removed)
                leaveSiblings(child.id)
            }
            start(place, as: child.launch)
        case .restartWithSiblings:
            if case .stoppingSiblings(_, let siblings) = course {
                wait(child.place, until: siblings.at)
            } else {
                wait(child.place, until: now)
            }
        }
    }

    /// Moves on to the next turns, as far as the children's states allow.
    mutating func proceed() {
        while true {
            switch course {
            case .steady, .ended:
                return

            case .ending(var turns, let ending):
                guard let id = turns.current else {
                    course = .ended
                    switch ending {
                    case .escalated(let reason): directives.append(.escalate(reason))
                    case .terminated(let reason): directives.append(.terminated(reason))
                    case .automatic: directives.append(.autoShutdown)
                    }
                    return
                }
                guard hasEnded(id, elseStopThen: .stop) else { return }
                turns.advance()
                course = .ending(turns, ending)

            case .stoppingSiblings(var turns, let siblings):
                guard let id = turns.current else {
                    course = .startingSiblings(Turns(siblings.inOrder), at: siblings.at)
                    continue
                }
                let isTemporary = table[id]?.specification.restart == .temporary
                if siblings.members.contains(id) {
                    guard hasEnded(id, elseStopThen: isTemporary ? .remove : .restartWithSiblings) else { return }
                }
                turns.advance()
                course = .stoppingSiblings(turns, siblings)

            case .startingSiblings(var turns, let at):
                guard at <= now else { return }
                guard let id = turns.current else {
                    course = .steady
                    return
                }
                let child = table[id]
                switch child?.state {
                case .waiting:
                    if let child { start(child.place, as: .restart) }
                    return
                case .starting:
                    return
                case .running, .stopping, .stopped, nil:
                    turns.advance()
                    course = .startingSiblings(turns, at: at)
                }
            }
        }
    }

    /// Whether the child is no longer alive; if it is, it is stopped.
    private mutating func hasEnded(_ id: ID, elseStopThen follow: ChildState.Follow) -> Bool {
        guard let child = table[id] else { return true }
        switch child.state {
        case .starting(let incarnation), .running(let incarnation, _):
            stop(child, incarnation, then: follow)
            return false
        case .stopping:
            return false
        case .waiting, .stopped:
            return true
        }
    }
}
