/// Hears what a coordinator tells, and what happens to it.
///
///     actor Auditor: CoordinatorDelegate {
///         func child(_ child: Child<LoginCoordinator>, didSend event: LoginCoordinator.Event) async { … }
///     }
///     child.delegates += auditor
///
/// Both methods have empty defaults. A delegate is held weakly. Each has a queue of its own, of 256 notices; when it's full the oldest goes to
/// the dead letters, and nobody else is delayed. Notices of one child come one after the other.
public protocol CoordinatorDelegate<Subject>: AnyObject, Sendable {
    /// The type of coordinator that it listens to.
    associatedtype Subject: Coordinator

    /// The child has told its delegates something.
    func child(_ child: Child<Subject>, didSend event: Subject.Event) async

    /// Something has happened to the child.
    func child(_ child: Child<Subject>, didChange change: LifecycleChange) async
}

extension CoordinatorDelegate {
    /// Nothing to do.
    public func child(_ child: Child<Subject>, didSend event: Subject.Event) async {}
    /// Nothing to do.
    public func child(_ child: Child<Subject>, didChange change: LifecycleChange) async {}
}
