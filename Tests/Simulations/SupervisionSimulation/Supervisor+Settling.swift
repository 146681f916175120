package import Supervision

extension Supervisor {
    /// Does at once what the supervisor says, until nothing is left to do.
    ///
    /// - Parameter answer: What happens next to a child that is started or stopped.
    /// - Returns: These directives, and all that have followed, in order.
    package mutating func settle(
        _ directives: [Directive],
        now: Duration,
        answer: (Directive) -> Event? = { $0.usualAnswer }
    ) -> [Directive] {
        var all = directives
        var next = 0
        while next < all.count {
            if let event = answer(all[next]) { all += handle(event, now: now) }
            next += 1
        }
        return all
    }
}

extension Supervisor.Directive {
    /// The event that follows when starts succeed and stops end as they should.
    package var usualAnswer: Supervisor.Event? {
        switch self {
        case .start(let id, let incarnation, _): .started(id, incarnation)
        case .stop(let id, let incarnation, _): .exited(id, incarnation, .shutdown)
        case .report, .removed, .wake, .escalate, .terminated, .autoShutdown, .refused: nil
        }
    }
}
