import DequeModule

/// The directives of a machine that wait to be carried out, one after the other in the order in which they were given.
///
/// Guarded by the machine's lock. One thread carries directives out at a time, whichever threads the events came on.
struct Outbox<Directive: Sendable>: Sendable {
    private var waiting: Deque<Directive> = []
    private var isPerforming = false

    /// Adds directives.
    ///
    /// - Returns: whether the caller has to carry out directives, after it has left the lock.
    mutating func add(_ directives: [Directive]) -> Bool {
        waiting.append(contentsOf: directives)
        if isPerforming || waiting.isEmpty { return false }
        isPerforming = true
        return true
    }

    /// The directive to be carried out next; `nil`: none is left, and the caller's turn has ended.
    mutating func next() -> Directive? {
        let next = waiting.popFirst()
        if next == nil { isPerforming = false }
        return next
    }
}
