public import DequeModule

/// The directives of a machine that wait to be carried out, one after the other in the order in which they were given.
///
/// Guarded by the machine's lock. One thread carries directives out at a time, whichever threads the events came on.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public struct Outbox<Directive: Sendable>: Sendable {
    @usableFromInline var waiting: Deque<Directive> = []
    @usableFromInline var isPerforming = false

    @inlinable
    package init() {}

    @inlinable
    package mutating func add(_ directives: [Directive]) { waiting.append(contentsOf: directives) }

    @inlinable
    package mutating func add(_ directive: Directive) { waiting.append(directive) }

    /// Whether no directive waits, nor is being carried out.
    @inlinable
    package var isIdle: Bool { waiting.isEmpty && !isPerforming }

    /// Begins a turn, if directives wait and no thread carries them out.
    ///
    /// - Returns: Whether the caller has to carry out directives, after it has left the lock.
    @inlinable
    package mutating func claimWriter() -> Bool {
        if isPerforming || waiting.isEmpty { return false }
        isPerforming = true
        return true
    }

    /// Takes the directive to be carried out next; `nil`: none is left, and the caller's turn has ended.
    @inlinable
    package mutating func next() -> Directive? {
        let next = waiting.popFirst()
        if next == nil { isPerforming = false }
        return next
    }
}
