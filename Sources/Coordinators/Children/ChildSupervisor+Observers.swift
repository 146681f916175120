import ConcurrencySupport
import Synchronization

extension ChildSupervisor {
    /// Adds an observer of a child, for all the child's incarnations.
    ///
    /// - Returns: The observer's number; `nil` when there is no such child or the delegate was added already.
    func observe(_ key: String, with queue: NoticeQueue, delegate: (any AnyObject & Sendable)? = nil) -> UInt64? {
        let observed = withSlot(key) { slot in (id: slot.record.observers.add(queue, delegate), host: slot.host) }
        guard let observed, let id = observed.id else { return nil }
        node.runtime.counts.observers.add(1, ordering: .relaxed)
        observed.host?.observeEvents()
        return id
    }

    func removeObservers(of key: String, where isMeant: (ChildObservers.Observer) -> Bool) {
        end(withSlot(key) { $0.record.observers.remove(where: isMeant) } ?? [])
    }

    /// Announces a change in which supervision has no part.
    ///
    /// - Parameter toParent: Whether the coordinator's own rows get the change, because they have not caused it.
    func announce(_ change: LifecycleChange, of key: String, toParent: Bool) {
        guard let typeName = notify(key, .change(change)) else { return }
        let incarnation = withSlot(key) { $0.incarnation } ?? 0
        node.runtime.announce(node.path.appending(key), incarnation, change)
        if toParent, !node.type.table.lifecycle.isEmpty {
            node.post(.lifecycle(AnyChild(supervisor: self, key: key, typeName: typeName), change))
        }
    }

    /// Sends a notice to a child's observers.
    ///
    /// - Returns: The child's type; `nil` when the child is gone.
    @discardableResult
    func notify(_ key: String, _ notice: ChildObservers.Notice) -> String? {
        let listeners = withSlot(key) { slot in
            let deserted = slot.record.observers.remove(where: \.isDeserted)
            return (present: slot.record.observers.all, deserted: deserted, typeName: slot.definition.typeName)
        }
        guard let listeners else { return nil }
        end(listeners.deserted)
        for observer in listeners.present { observer.queue.append(notice) }
        return listeners.typeName
    }

    func end(_ observers: [ChildObservers.Observer]) {
        for observer in observers {
            observer.queue.finish()
            node.runtime.counts.observers.subtract(1, ordering: .relaxed)
        }
    }

    // MARK: Delegates

    func add<D: CoordinatorDelegate>(_ delegate: D, to child: Child<D.Subject>) {
        let queue = NoticeQueue(of: child.path, deadLetters: node.runtime.deadLetters)
        guard observe(child.key, with: queue, delegate: delegate) != nil else { return }
        tasks.add { [weak delegate] in
            for await notice in queue {
                guard let delegate else { break }
                switch notice {
                case .change(let change): await delegate.child(child, didChange: change)
                case .event(let event):
                    if let event = queue.decoded(event, as: D.Subject.Event.self) { await delegate.child(child, didSend: event) }
                }
            }
        }
    }

    // MARK: Watching

    /// Answers the request when the child's present life ends, or at once when there is none.
    func watch(_ key: String, _ envelope: Envelope) {
        let path = node.path.appending(key)
        let gone = state.withLock { state -> Termination? in
            let lives = state.isAlive(key) || state.isEnding(key)
            let answer = state.slots.with(key) { slot -> Termination? in
                guard lives, slot.host != nil else {
                    return Termination(path: path, incarnation: slot.incarnation, reason: slot.record.lastExit ?? .unknown)
                }
                slot.record.watchers[ObjectIdentifier(envelope)] = envelope
                return nil
            }
            return answer ?? Termination(path: path, incarnation: 0, reason: .unknown)
        }
        envelope.release()
        if let gone { return envelope.complete(.success(.value(gone))) }
        // One that is given up, or whose asker is gone, isn't kept until the child ends.
        let watcher = ObjectIdentifier(envelope)
        envelope.work(.function { [weak self] in _ = self?.withSlot(key) { $0.record.watchers[watcher] = nil } })
    }
}
