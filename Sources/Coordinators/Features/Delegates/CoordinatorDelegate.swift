/// An object that gets the events of a coordinator and its changes.
///
///     actor Auditor: CoordinatorDelegate {
///         func child(_ child: Child<LoginCoordinator>, didSend event: LoginCoordinator.Event) async { … }
///     }
///     child.delegates += auditor
///
/// Both methods have empty defaults. A delegate is held weakly. Each has a queue of its own, of 256 notices; when it's full, the oldest
/// notice goes to the dead letters, and no other delegate is delayed. Notices of one child arrive one after the other.
public protocol CoordinatorDelegate<Subject>: AnyObject, Sendable {
    /// The type of the coordinators that the delegate observes.
    associatedtype Subject: Coordinator

    /// Handles an event that the child has sent to its delegates.
    func child(_ child: Child<Subject>, didSend event: Subject.Event) async

    /// Handles a change of the child.
    func child(_ child: Child<Subject>, didChange change: LifecycleChange) async
}

extension CoordinatorDelegate {
    /// Does nothing.
    public func child(_ child: Child<Subject>, didSend event: Subject.Event) async {}
    /// Does nothing.
    public func child(_ child: Child<Subject>, didChange change: LifecycleChange) async {}
}
