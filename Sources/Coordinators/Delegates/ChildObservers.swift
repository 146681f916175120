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
    }

    private(set) var all: [Observer] = []
    private var next: UInt64 = 0

    /// Adds an observer and returns its number; `nil` if the delegate was added already.
    mutating func add(_ queue: NoticeQueue, _ delegate: (any AnyObject & Sendable)?) -> UInt64? {
        if let delegate, all.contains(where: { $0.delegate === delegate }) { return nil }
        next += 1
        all.append(Observer(id: next, delegate: delegate, isDelegate: delegate != nil, queue: queue))
        return next
    }

    mutating func remove(_ id: UInt64) -> Observer? {
        all.firstIndex { $0.id == id }.map { all.remove(at: $0) }
    }

    mutating func remove(_ delegate: any AnyObject & Sendable) -> Observer? {
        all.firstIndex { $0.delegate === delegate }.map { all.remove(at: $0) }
    }

    /// Removes and returns the observers whose delegate is gone.
    mutating func removeDeserted() -> [Observer] {
        guard all.contains(where: { $0.isDelegate && $0.delegate == nil }) else { return [] }
        let deserted = all.filter { $0.isDelegate && $0.delegate == nil }
        all.removeAll { $0.isDelegate && $0.delegate == nil }
        return deserted
    }
}
