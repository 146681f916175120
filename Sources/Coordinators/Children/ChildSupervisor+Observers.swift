import ConcurrencySupport
import Synchronization

extension ChildSupervisor {
    /// Adds somebody who hears of a child from now on, whatever life it's in.
    ///
    /// - Returns: the observer's number; `nil` when there is no such child or the delegate is there already.
    func observe(
        _ key: String,
        delegate: (any AnyObject & Sendable)? = nil,
        deliver: @escaping @Sendable (ChildObservers.Notice) -> Void,
        finish: @escaping @Sendable () -> Void
    ) -> UInt64? {
        let (id, host) = state.withLock { state -> (UInt64?, (any ChildHost)?) in
            let id = state.slots[key]?.observers.add(delegate, deliver: deliver, finish: finish)
            return (id ?? nil, state.slots[key]?.host)
        }
        guard let id else { return nil }
        node.runtime.counts.observers.add(1, ordering: .relaxed)
        host?.observeEvents()
        return id
    }

    func removeObserver(_ id: UInt64, of key: String) {
        end(state.withLock { [$0.slots[key]?.observers.remove(id)].compactMap { $0 } })
    }

    func removeObserver(_ delegate: any AnyObject & Sendable, of key: String) {
        end(state.withLock { [$0.slots[key]?.observers.remove(delegate)].compactMap { $0 } })
    }

    /// A change that hasn't to do with supervision.
    ///
    /// - Parameter toParent: whether the coordinator's own rows hear of it, which have not caused it.
    func announce(_ change: LifecycleChange, of key: String, toParent: Bool) {
        guard let typeName = notify(key, .change(change)) else { return }
        node.runtime.announce(node.path.appending(key), change)
        if toParent, !node.type.table.lifecycle.isEmpty {
            node.post(.lifecycle(AnyChild(supervisor: self, key: key, typeName: typeName), change))
        }
    }

    /// - Returns: the child's type; `nil` when it's gone.
    @discardableResult
    func notify(_ key: String, _ notice: ChildObservers.Notice) -> String? {
        let (observers, deserted, typeName) = state.withLock {
            state -> ([ChildObservers.Observer], [ChildObservers.Observer], String?) in
            let deserted = state.slots[key]?.observers.removeDeserted() ?? []
            return (state.slots[key]?.observers.all ?? [], deserted, state.slots[key]?.definition.typeName)
        }
        end(deserted)
        for observer in observers { observer.deliver(notice) }
        return typeName
    }

    func end(_ observers: [ChildObservers.Observer]) {
        for observer in observers {
            observer.finish()
            node.runtime.counts.observers.subtract(1, ordering: .relaxed)
        }
    }
}
