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
