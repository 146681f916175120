extension Supervisor {
    /// An event or a request that concerns one child.
    enum Occurrence {
        case started, startFailed(ExitReason), exited(ExitReason), finished
        case startRequested(ChildSpecification), stopRequested, removeRequested, restartRequested
        case specificationChanged(ChildSpecification)
        case due
    }

    /// Handles an event of one incarnation; an event of an older incarnation has no effect.
    mutating func observe(_ id: String, _ incarnation: Incarnation, _ occurrence: Occurrence) {
        guard let place = table.find(id), table[place].state.incarnation == incarnation else { return }
        transition(place, occurrence)
        stopFollowers(of: id)
    }

    /// Handles a request.
    ///
    /// Once the supervisor is ending, requests have no effect: every child is stopped in its turn.
    mutating func request(_ id: String, _ occurrence: Occurrence, _ name: HashedName? = nil) {
        if isEnding { return }
        guard case .startRequested(let specification) = occurrence else {
            if let place = table.find(id) { transition(place, occurrence) }
            return
        }
        let name = name ?? HashedName(id)
        if let place = table.find(name) { transition(place, occurrence) } else { add(specification, name) }
    }

    /// Adds and starts a child whose id is unknown.
    private mutating func add(_ specification: ChildSpecification, _ name: HashedName) {
        let incarnation = forgotten.recall(specification.id)
        start(table.append(Child(specification: specification, state: .stopped, incarnation: incarnation), name), as: .first)
    }

    /// Decides every pair of a state and an occurrence.
    private mutating func transition(_ place: Int, _ occurrence: Occurrence) {
        let state = table[place].state
        switch (state, occurrence) {
        case (_, .specificationChanged(let specification)):
            table.update(place) { $0.specification = specification }
            // As if the child had been temporary when it was stopped.
            if state == .stopped { retire(place) }

        case (.starting(let incarnation), .started):
            setState(of: place, .running(incarnation, since: now))
            report(place, table[place].launch == .restart ? .restarted : .started)
        case (.starting, .startFailed(let reason)), (.starting, .exited(let reason)):
            startHasFailed(table[place], reason)
        case (.running, .exited(let reason)), (.running, .startFailed(let reason)):
            lifeHasEnded(table[place], reason)
        case (.running, .started):
            break  // A repetition.
        case (.starting(let incarnation), .finished), (.running(let incarnation, _), .finished):
            table.update(place) { $0.isFinishing = true }
            stop(table[place], incarnation, then: .remove)

        case (.starting, .startRequested), (.running, .startRequested), (.waiting, .startRequested):
            break  // The child is started already, or will be.
        case (.starting(let incarnation), .stopRequested), (.running(let incarnation, _), .stopRequested):
            stop(table[place], incarnation, then: .stop)
        case (.starting(let incarnation), .removeRequested), (.running(let incarnation, _), .removeRequested):
            stop(table[place], incarnation, then: .remove)
        case (.starting(let incarnation), .restartRequested), (.running(let incarnation, _), .restartRequested):
            stop(table[place], incarnation, then: .start)
            startAnew(place, as: .restart)

        case (.stopping(_, let follow), .exited(let reason)), (.stopping(_, let follow), .startFailed(let reason)):
            stopHasEnded(table[place], reason, follow)
        case (.stopping, .started):
            break  // Too late: the stop wins.
        case (.stopping(let incarnation, let follow), .startRequested(let specification)):
            table.update(place) { $0.specification = specification }
            switch follow {
            case .stop:
                startAnew(place, as: .again)
                setState(of: place, .stopping(incarnation, then: .start))
            case .remove:
                startAnew(place, as: .first)
                setState(of: place, .stopping(incarnation, then: .start))
            case .start, .restartWithSiblings:
                break
            }
        case (.stopping(let incarnation, let follow), .stopRequested):
            if follow != .remove {
                setState(of: place, .stopping(incarnation, then: .stop))
            }
        case (.stopping(let incarnation, _), .removeRequested), (.stopping(let incarnation, _), .finished):
            setState(of: place, .stopping(incarnation, then: .remove))
        case (.stopping(let incarnation, let follow), .restartRequested):
            if follow == .stop {
                startAnew(place, as: .restart)
                setState(of: place, .stopping(incarnation, then: .start))
            }

        case (.waiting, .due):
            start(place, as: .restart)
        case (.waiting, .restartRequested), (.stopped, .restartRequested):
            // The child no longer waits for its siblings: if this start fails, the failure is the child's own, and counted.
            leaveSiblings(table[place].id)
            startAnew(place, as: .restart)
            start(place, as: .restart)
        case (.waiting, .stopRequested):
            report(place, .stopped(.shutdown))
            retire(place)
        case (.waiting, .removeRequested):
            report(place, .stopped(.shutdown))
            forget(place)

        case (.stopped, .startRequested(let specification)):
            table.update(place) { $0.specification = specification }
            startAnew(place, as: .again)
            start(place, as: .again)
        case (.stopped, .stopRequested):
            break  // The child is stopped already.
        case (.stopped, .removeRequested):
            forget(place)

        case (.waiting, .started), (.waiting, .startFailed), (.waiting, .exited), (.waiting, .finished),
            (.stopped, .started), (.stopped, .startFailed), (.stopped, .exited), (.stopped, .finished),
            (.starting, .due), (.running, .due), (.stopping, .due), (.stopped, .due):
            break  // No incarnation is alive that could report this; no restart is waiting that could be due.
        }
    }

    /// Makes a requested start independent of the child's earlier failures: its backoff starts from the beginning.
    private mutating func startAnew(_ place: Int, as launch: Child.Launch) {
        table.update(place) {
            $0.launch = launch
            $0.attempts = 0
        }
    }

    // MARK: - Parts of transitions

    mutating func setState(of place: Int, _ state: ChildState) {
        table.update(place) { $0.state = state }
    }

    mutating func report(_ place: Int, _ change: Change) {
        directives.append(.report(table[place].id, table[place].incarnation, change))
    }

    mutating func start(_ place: Int, as launch: Child.Launch) {
        table.update(place) {
            $0.launch = launch
            $0.hasGivenUp = false
            $0.isFinishing = false
            $0.incarnation &+= 1
            $0.state = .starting($0.incarnation)
        }
        directives.append(.start(table[place].id, table[place].incarnation, attempt: table[place].attempts))
    }

    mutating func stop(_ child: Child, _ incarnation: Incarnation, then follow: ChildState.Follow) {
        // A long life ends the row of failures also when the child doesn't end by itself: a sibling's restart starts it again.
        endRow(of: child)
        setState(of: child.place, .stopping(incarnation, then: follow))
        directives.append(.stop(child.id, incarnation, child.specification.shutdown))
    }

    /// Marks a child as stopped, which only a request starts again: its specification is kept, unless it is temporary.
    mutating func retire(_ place: Int) {
        if table[place].specification.restart == .temporary {
            forget(place)
        } else {
            setState(of: place, .stopped)
        }
    }

    mutating func forget(_ place: Int) {
        guard let child = table.remove(place) else { return }
        forgotten.remember(child.id, child.incarnation)
        if !ownWindows.isEmpty { ownWindows[child.id] = nil }
        leaveSiblings(child.id)
        directives.append(.removed(child.id))
    }
}
