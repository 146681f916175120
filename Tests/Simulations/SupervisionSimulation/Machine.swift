package import Supervision

/// A supervisor, or a mutated one by which the simulation itself is tested.
package struct Machine {
    /// A function that handles events in the supervisor's place.
    package typealias Mutation = (_ supervisor: inout Supervisor, _ event: Event, _ now: Duration) -> [Directive]
    /// The events of the supervisors here.
    package typealias Event = Supervisor.Event
    /// The directives of the supervisors here.
    package typealias Directive = Supervisor.Directive

    var supervisor: Supervisor
    let mutation: Mutation?

    mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        if let mutation { return mutation(&supervisor, event, now) }
        return supervisor.handle(event, now: now)
    }
}
