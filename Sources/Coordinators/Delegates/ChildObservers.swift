import ConcurrencySupport

/// Who hears of one child, beside its parent's rows: each on its own, so that a slow one delays nobody.
struct ChildObservers {
    /// What there is to hear.
    enum Notice: Sendable {
        case event(Answer)
        case change(LifecycleChange)
    }

    struct Observer: Sendable {
        let id: UInt64
        /// The delegate that is behind it; once it's gone, so is the observer.
        weak var delegate: (any AnyObject & Sendable)?
        let isDelegate: Bool
        let deliver: @Sendable (Notice) -> Void
        let finish: @Sendable () -> Void
    }

    private(set) var all: [Observer] = []
    private var next: UInt64 = 0

    /// - Returns: its number; `nil` if the delegate is among them already.
    mutating func add(
        _ delegate: (any AnyObject & Sendable)?,
        deliver: @escaping @Sendable (Notice) -> Void,
        finish: @escaping @Sendable () -> Void
    ) -> UInt64? {
        if let delegate, all.contains(where: { $0.delegate === delegate }) { return nil }
        next += 1
        all.append(Observer(id: next, delegate: delegate, isDelegate: delegate != nil, deliver: deliver, finish: finish))
        return next
    }

    mutating func remove(_ id: UInt64) -> Observer? {
        all.firstIndex { $0.id == id }.map { all.remove(at: $0) }
    }

    mutating func remove(_ delegate: any AnyObject & Sendable) -> Observer? {
        all.firstIndex { $0.delegate === delegate }.map { all.remove(at: $0) }
    }

    /// Those whose delegate is gone, taken out.
    mutating func removeDeserted() -> [Observer] {
        guard all.contains(where: { $0.isDelegate && $0.delegate == nil }) else { return [] }
        let deserted = all.filter { $0.isDelegate && $0.delegate == nil }
        all.removeAll { $0.isDelegate && $0.delegate == nil }
        return deserted
    }
}
