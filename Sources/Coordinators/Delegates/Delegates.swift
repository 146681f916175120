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

extension Child {
    /// Who hears of the child.
    public var delegates: Delegates<C> { Delegates(child: self) }
}
