import ConcurrencySupport

infix operator => : AssignmentPrecedence

/// Who hears of a child: any number of delegates, added and removed.
///
///     child.delegates += auditor
///     child.delegates -= auditor
///
/// They follow the path: a restart doesn't end them, the child's removal does.
public struct Delegates<C: Coordinator>: Sendable {
    let child: Child<C>

    /// Adds a delegate; one that is there already stays as it is.
    public static func += (delegates: Delegates, delegate: some CoordinatorDelegate<C>) {
        delegates.child.supervisor.add(delegate, to: delegates.child)
    }

    /// Removes a delegate.
    public static func -= (delegates: Delegates, delegate: some CoordinatorDelegate<C>) {
        delegates.child.supervisor.removeObserver(delegate, of: delegates.child.key)
    }
}

/// Whom a coordinator tells its events: its parent, and whoever else listens, in this process or another.
///
///     context.delegates => .loggedIn(user)
public struct OwnDelegates<C: Coordinator>: Sendable {
    let node: Node

    /// Tells all delegates; never waits for any of them.
    public static func => (delegates: OwnDelegates, event: C.Event) {
        delegates.node.emit(.value(event))
    }
}

extension Context {
    /// Whom the coordinator tells its events.
    public var delegates: OwnDelegates<C> { OwnDelegates(node: node) }
}

extension Child {
    /// Who hears of the child.
    public var delegates: Delegates<C> { Delegates(child: self) }
}

extension ChildSupervisor {
    fileprivate func add<D: CoordinatorDelegate>(_ delegate: D, to child: Child<D.Subject>) {
        let queue = NoticeQueue(of: child.path, deadLetters: node.runtime.deadLetters)
        let id = observe(child.key, delegate: delegate, deliver: { queue.append($0) }, finish: { queue.finish() })
        guard id != nil else { return }
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
}
