import ConcurrencySupport

/// The observers of one child, besides its parent's rows: each has its own queue, so that a slow one delays no other.
struct ChildObservers {
    /// An event or a change that an observer gets.
    enum Notice: Sendable {
        case event(Answer)
        case change(LifecycleChange)
    }

    struct Observer: Sendable {
        let id: UInt64
        /// The delegate behind the observer; once it's gone, the observer is removed.
        weak var delegate: (any AnyObject & Sendable)?
        let isDelegate: Bool
        let queue: NoticeQueue

        var isDeserted: Bool { isDelegate && delegate == nil }
    }

    private(set) var all: [Observer] = []
    private var next: UInt64 = 0

    /// Whether there has never been an observer: numbers must not be used twice.
    var areUnused: Bool { next == 0 }

    /// Adds an observer and returns its number; `nil` if the delegate was added already.
    mutating func add(_ queue: NoticeQueue, _ delegate: (any AnyObject & Sendable)?) -> UInt64? {
        if let delegate, all.contains(where: { $0.delegate === delegate }) { return nil }
        next += 1
        all.append(Observer(id: next, delegate: delegate, isDelegate: delegate != nil, queue: queue))
        return next
    }

    /// Removes and returns the observers that satisfy the condition.
    mutating func remove(where isMeant: (Observer) -> Bool) -> [Observer] {
        let removed = all.filter(isMeant)
        if removed.isEmpty { return [] }
        // By number, since a delegate may go between two looks.
        all.removeAll { observer in removed.contains { $0.id == observer.id } }
        return removed
    }
}
