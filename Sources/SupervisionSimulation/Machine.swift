public import Supervision

/// A supervisor, or one that something has been done to, to see that it's noticed.
public struct Machine {
    /// What handles events in the supervisor's place.
    public typealias Mutation = (_ supervisor: inout Supervisor<String>, _ event: Event, _ now: Duration) -> [Directive]
    /// The events of the supervisors here.
    public typealias Event = Supervisor<String>.Event
    /// The directives of the supervisors here.
    public typealias Directive = Supervisor<String>.Directive

    var supervisor: Supervisor<String>
    let mutation: Mutation?

    mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        if let mutation { return mutation(&supervisor, event, now) }
        return supervisor.handle(event, now: now)
    }
}
