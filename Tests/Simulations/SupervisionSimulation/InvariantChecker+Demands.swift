import Supervision

/// The checks of a supervisor's end, and of its table at any time.
extension InvariantChecker {
    /// Returns a child that lives and has to end before another is stopped, where no edge between them says so.
    func laterLife(than slot: Int) -> Int? {
        if isOutside(slot) { return nil }
        return order.first { $0 != slot && lines[$0].life != nil && isOutside($0) }
            ?? order.reversed().prefix { $0 != slot }.first { lines[$0].life != nil }
    }

    private func isOutside(_ slot: Int) -> Bool {
        if stopOrder != .chain, case .outside = lines[slot].stopPlace { true } else { false }
    }

    mutating func noteOver() throws(Violation) {
        if let slot = lines.firstIndex(where: { $0.life != nil }) {
            throw Violation(.noLeak, "\(Place.ids[slot]) lived when its supervisor ended")
        }
        isOver = true
    }

    /// Checks that a supervisor that ends waits for the latest of its children, and for all that weren't ready when it began to end.
    func checkEnding() throws(Violation) {
        guard isEnding, !isOver else { return }
        if let slot = lines.firstIndex(where: { $0.life?.isReady == false && $0.life?.isToldToStop == false }) {
            throw Violation(.stopWins, "\(Place.ids[slot]) goes on starting under a supervisor that ends")
        }
        guard let last = order.last(where: { lines[$0].life != nil }) else {
            throw Violation(hasGivenUp ? .escalation : .quiescence, "no child lives, and the supervisor has not ended")
        }
        // Others are told when those have ended that come before them; which these are is the model's business where there are edges.
        let outside = order.filter { lines[$0].life != nil && isOutside($0) }
        guard outside.isEmpty ? lines[last].life?.isToldToStop == true : lines.contains(where: { $0.life?.isToldToStop == true }) else {
            throw Violation(.stopOrder, "\(Place.ids[last]) is the latest of an ending supervisor's children and was not stopped")
        }
    }

    /// Compares the supervisor's table with what lives.
    func compare(with supervisor: Supervisor) throws(Violation) {
        var known = 0
        for (specification, state) in supervisor.children {
            known += 1
            let slot = try slot(specification.id)
            let line = lines[slot]
            guard line.isKnown else { throw Violation(.removal, "\(specification.id) is unknown and in the table") }
            guard state.incarnation == line.life?.incarnation else {
                throw Violation(.table, "\(specification.id) is \(state), and \(line.life?.incarnation ?? 0) lives")
            }
            switch state {
            case .starting where line.life?.isReady == false && line.life?.isToldToStop == false: break
            case .running where line.life?.isReady == true && line.life?.isToldToStop == false: break
            case .stopping where line.life?.isToldToStop == true: break
            case .waiting where line.isWanted && !isOver: break
            case .stopped: break
            default: throw Violation(.table, "\(specification.id) is \(state) and \(line)")
            }
        }
        guard known == lines.reduce(0, { $0 + ($1.isKnown ? 1 : 0) }) else {
            throw Violation(.removal, "\(known) children are in the table")
        }
    }
}
