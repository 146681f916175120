/// Actions on several children, in their order.
extension Supervisor {
    /// Stops all children by their partial order, and then ends the supervisor.
    ///
    /// Children that are still starting are asked to stop at once: they would be ready one after the other before their turns came.
    ///
    /// A supervisor that is ending already doesn't begin again; but a request to end turns an escalation or an automatic shutdown that is
    /// under way into a requested end.
    mutating func end(_ ending: Ending) {
        switch (course, ending) {
        case (.ended, _), (.ending, .escalated), (.ending, .automatic), (.ending(.terminated), .terminated):
            break
        case (.ending(.escalated), .terminated), (.ending(.automatic), .terminated):
            course = .ending(ending)
        case (.steady, _), (.stoppingSiblings, _), (.startingSiblings, _):
            let all = Array(table.inOrder).reversed() as [Child]
            course = .ending(ending)
            stops = Stops(all, isChain: policy.stopOrder == .chain)
            for child in all { cancelStarts(of: child.id) }
            for child in all where stops.mayStop(child.id) { _ = hasEnded(child.id, elseStopThen: .stop) }
        }
    }

    /// Stops the children that have waited for one that has ended, if the supervisor ends.
    mutating func stopFollowers(of id: String) {
        guard case .ending = course, table[id]?.state.incarnation == nil else { return }
        for follower in stops.noteEnd(of: id, isForgotten: table[id] == nil) { _ = hasEnded(follower, elseStopThen: .stop) }
    }

    /// Stops a child that is starting, and cancels its waiting restarts.
    private mutating func cancelStarts(of id: String) {
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

    /// Stops the children, the latest first, and then starts them in start order.
    ///
    /// If another such restart is under way, the two are joined.
    mutating func restartTogether(_ affected: [String]) {
        let isAffected = Set(affected)
        var members = isAffected
        switch course {
        case .steady, .ending, .ended: break
        case .stoppingSiblings(_, let siblings): members.formUnion(siblings.members)
        case .startingSiblings(let turns, _): members.formUnion(turns.remaining.filter(isWaiting))
        }
        let inOrder = members.count == affected.count ? affected : ids.filter(members.contains)
        // The latest backoff of all holds, so that no child is restarted before its own has passed.
        let at = inOrder.reduce(now) { latest, id in
            guard case .waiting(let time, _) = table[id]?.state else { return latest }
            return max(latest, time)
        }
        for id in inOrder {
            guard let child = table[id] else { continue }
            join(child, at: at, isAffected: isAffected.contains(id))
        }
        // Without the children that were forgotten in the loop above.
        let joined = inOrder.filter { table[$0] != nil }
        course = .stoppingSiblings(Turns(joined.reversed()), Siblings(inOrder: joined, members: Set(joined), at: at))
    }

    /// Makes a child that isn't alive, or won't be for long, take part in a restart of siblings.
    ///
    /// Children that were stopped before take part as well (OTP's supervisor.erl, `start_children`), but not one that was stopped while an
    /// earlier restart was under way that this one has joined.
    private mutating func join(_ child: Child, at time: Duration, isAffected: Bool) {
        let isTemporary = child.specification.restart == .temporary
        switch child.state {
        case .starting, .running, .stopping(_, .remove), .stopping(_, .start), .stopping(_, .restartWithSiblings):
            break  // Its turn comes, or it is about to end.
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

    /// Takes a forgotten child out of a restart of siblings, so that it has no part in it even if its id is added again.
    mutating func leaveSiblings(_ id: String) {
        guard case .stoppingSiblings(let turns, var siblings) = course else { return }
        course = .steady  // So that the set isn't copied.
        siblings.members.remove(id)
        course = .stoppingSiblings(turns, siblings)
    }

    private func isWaiting(_ id: String) -> Bool {
        if case .waiting = table[id]?.state { true } else { false }
    }

    mutating func stopHasEnded(_ child: Child, _ reason: ExitReason, _ follow: ChildState.Follow) {
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
                // The child was removed and requested again, so it counts as the last one started and is stopped first.
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

            case .ending(let ending):
                guard stops.outside.isEmpty else {
                    // Edges that form a circle hold nothing back.
                    if count(in: .stopping) == 0 { for id in stops.takeWaiting() { _ = hasEnded(id, elseStopThen: .stop) } }
                    return
                }
                guard let id = stops.chain.current else {
                    course = .ended
                    switch ending {
                    case .escalated(let reason): directives.append(.escalate(reason))
                    case .terminated(let reason): directives.append(.terminated(reason))
                    case .automatic: directives.append(.autoShutdown)
                    }
                    return
                }
                guard hasEnded(id, elseStopThen: .stop) else { return }
                stops.chain.advance()

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

    /// Returns whether the child is no longer alive, and stops it if it is.
    private mutating func hasEnded(_ id: String, elseStopThen follow: ChildState.Follow) -> Bool {
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

extension Supervisor {
    /// Puts children into this start order, which is the order of later restarts of siblings, and in reverse that of the end of the chain.
    ///
    /// Children that aren't named come before those that are. Decisions that were taken before stand.
    ///
    /// - Parameter others: The siblings that are stopped after each child when the supervisor ends, by the child's id; the children that are
    ///   arranged are outside of the chain then. With nil each keeps its ``StopPlace``.
    package mutating func arrange(_ ids: [String], stoppingBefore others: [String: [String]]? = nil) {
        table.arrange(ids)
        guard let others else { return }
        for id in ids {
            let place = others[id].map { StopPlace.outside(before: $0) } ?? .unordered
            guard let child = table[id], child.specification.stopPlace != place else { continue }
            table.update(child.place) { $0.specification.stopPlace = place }
        }
    }

    /// Changes whether every child is counted separately, and given up alone; see ``init(policy:seed:isolatesFailures:)``.
    package mutating func isolateFailures(_ isolates: Bool) { isolatesFailures = isolates }
}
