import ConcurrencySupport

infix operator => : AssignmentPrecedence

/// The delegates of a child: any number, added and removed.
///
///     child.delegates += auditor
///     child.delegates -= auditor
///
/// Delegates follow the path: a restart doesn't remove them, the child's removal does.
public struct Delegates<C: Coordinator>: Sendable {
    let child: Child<C>

    /// Adds a delegate; adding one again has no effect.
    public static func += (delegates: Delegates, delegate: some CoordinatorDelegate<C>) {
        delegates.child.supervisor.add(delegate, to: delegates.child)
    }

    /// Removes a delegate.
    public static func -= (delegates: Delegates, delegate: some CoordinatorDelegate<C>) {
        delegates.child.supervisor.removeObserver(delegate, of: delegates.child.key)
    }
}

/// The receivers of a coordinator's events: its parent, and all delegates and streams, in this process or another.
///
///     context.delegates => .loggedIn(user)
public struct OwnDelegates<C: Coordinator>: Sendable {
    let node: Node

    /// Sends an event to all delegates, without waiting for any of them.
    public static func => (delegates: OwnDelegates, event: C.Event) {
        delegates.node.emit(.value(event))
    }
}

extension Child {
    /// The delegates of the child.
    public var delegates: Delegates<C> { Delegates(child: self) }
}
