import Supervision

/// The checks of what is due after an event, and of the supervisor's table.
extension SupervisorChecker {
    mutating func checkWhatIsDue() throws(Violation) {
        if let slot = toStop, !isOver, let life = lines[slot].life, !life.isToldToStop {
            throw Violation(.stopWins, "\(Place.ids[slot]) \(life.incarnation) was not stopped although that was requested")
        }
        if let change { throw Violation(.report, "\(change) was not reported") }
        if let ended, ended.verdict != .nothing, ended.verdict != .forget {
            throw Violation(.verdict, "\(Place.ids[ended.slot]) has ended, and what had to follow didn't: \(ended.verdict)")
        }
        for slot in order where lines[slot].life == nil {
            let line = lines[slot]
            guard !line.isLeaving, !line.isTemporary || line.cause != nil, ended?.isThat(of: slot, .forget) != true else {
                throw Violation(.removal, "\(Place.ids[slot]) was not removed")
            }
        }
        if isEnding { return try checkEnding() }
        try checkWaiting()
    }

    /// Checks that each child that waits has been started if its time or its turn has come, and that the supervisor is woken otherwise.
    private mutating func checkWaiting() throws(Violation) {
        moveOn()
        if let together, together.isStopping, let last = together.turns.last, lines[last].life?.isToldToStop == false {
            throw Violation(.siblings, "\(Place.ids[last]) was not stopped, and its turn has come")
        }
        for slot in order where lines[slot].isWaiting {
            let line = lines[slot]
            if let together, together.contains(slot) {
                guard !together.isStopping else { continue }
                guard together.due > now || together.turns.first != slot else {
                    throw Violation(.siblings, "\(Place.ids[slot]) was not started, and its turn has come")
                }
                if together.due <= now { continue }
            } else if line.due <= now {
                guard line.cause == .failure, event != .timePassed else {
                    throw Violation(.punctuality, "\(Place.ids[slot]) was not started, and its time has come")
                }
                continue
            }
            guard let wake, wake <= line.due else {
                let found = wake.map { "\($0)" } ?? "no time"
                throw Violation(.wake, "\(Place.ids[slot]) waits until \(line.due), and the wake is at \(found)")
            }
        }
    }

    // MARK: - The end

    /// Checks that a supervisor that ends stops those of its children for whose end no other has to come before, and no others.
    private func checkEnding() throws(Violation) {
        guard !isOver else { return }
        let alive = order.filter { lines[$0].life != nil }
        guard !alive.isEmpty else {
            throw Violation(hasGivenUp ? .escalation : .quiescence, "no child lives, and the supervisor has not ended")
        }
        if let slot = alive.first(where: { lines[$0].isStarting }) {
            throw Violation(.stopWins, "\(Place.ids[slot]) goes on starting under a supervisor that ends")
        }
        let outside = alive.filter { others(after: $0) != nil }
        var next = outside.filter { slot in !outside.contains { $0 != slot && others(after: $0)?.contains(Place.ids[slot]) == true } }
        // Those that wait for one another in a circle wait for nothing else.
        if !alive.contains(where: { lines[$0].life?.isToldToStop == true && !inTurn.contains($0) }), next.isEmpty { next = outside }
        if outside.isEmpty { next = [alive[alive.count - 1]] }
        if let slot = next.first(where: { lines[$0].life?.isToldToStop == false }) {
            throw Violation(.stopOrder, "\(Place.ids[slot]) was not stopped, and its turn has come")
        }
        if let slot = inTurn.first(where: { !next.contains($0) }) {
            throw Violation(.stopOrder, "\(Place.ids[slot]) was stopped, and its turn hasn't come")
        }
    }

    /// The children that have to wait for one that is outside of the chain; nil for one of the chain.
    private func others(after slot: Int) -> [String]? {
        guard stopOrder != .chain, case .outside(let others) = lines[slot].specification.stopPlace else { return nil }
        // Children that don't live hold nothing back, but the order goes through them.
        var found = others
        var index = 0
        while index < found.count {
            defer { index += 1 }
            guard let other = order.first(where: { Place.ids[$0] == found[index] }), lines[other].life == nil else { continue }
            guard case .outside(let others) = lines[other].specification.stopPlace else { continue }
            found += others.filter { !found.contains($0) }
        }
        return found
    }

    // MARK: - The table

    /// Compares the supervisor's table with the lives and what the children wait for.
    func compare(with supervisor: Supervisor) throws(Violation) {
        let children = supervisor.children
        guard children.count == order.count, zip(order, children).allSatisfy({ Place.ids[$0] == $1.specification.id }) else {
            throw Violation(.removal, "\(children.map(\.specification.id)) are in the table, not \(order.map { Place.ids[$0] })")
        }
        for (slot, (_, state)) in zip(order, children) {
            let line = lines[slot]
            let isRight =
                switch state {
                case .starting(let incarnation): line.life?.incarnation == incarnation && line.isStarting
                case .running(let incarnation, let since):
                    line.life?.incarnation == incarnation && line.life?.readySince == since && line.life?.isToldToStop == false
                case .stopping(let incarnation, _): line.life?.incarnation == incarnation && line.life?.isToldToStop == true
                case .waiting(let time, let attempt): line.isWaiting && !isOver && time == line.due && attempt == line.attempts
                case .stopped: line.life == nil && line.cause == nil
                }
            guard isRight else { throw Violation(.table, "\(Place.ids[slot]) is \(state) and \(line)") }
        }
        for kind in ChildState.Kind.allCases {
            var count = 0
            for (_, state) in children where state.kind == kind { count += 1 }
            guard supervisor.count(in: kind) == count else {
                throw Violation(.table, "\(count) are \(kind), not \(supervisor.count(in: kind))")
            }
        }
    }
}
