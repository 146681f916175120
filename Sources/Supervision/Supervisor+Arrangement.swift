extension Supervisor {
    /// Puts children into this start order, which is the order of later restarts of siblings, and in reverse that of the end of the chain.
    ///
    /// Children that aren't named come before those that are. Decisions that were taken before stand.
    package mutating func arrange(_ ids: [String]) {
        table.arrange(ids)
    }
}
