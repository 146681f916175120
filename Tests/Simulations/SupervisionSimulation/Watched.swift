package import Supervision

/// One life of a supervisor, or of a mutated one by which the simulation itself is tested, under observation.
package struct Watched {
    /// A function that handles events in the supervisor's place.
    package typealias Mutation = (_ supervisor: inout Supervisor, _ event: Supervisor.Event, _ now: Duration) -> [Supervisor.Directive]

    /// The supervisor.
    package private(set) var supervisor: Supervisor
    private(set) var checker: SupervisorChecker
    private let mutation: Mutation?

    /// Begins a life.
    package init(_ policy: SupervisionPolicy, seed: UInt64 = 0, isolatesFailures: Bool = false, mutation: Mutation? = nil) {
        supervisor = Supervisor(policy: policy, seed: seed, isolatesFailures: isolatesFailures)
        checker = SupervisorChecker(policy, isolatesFailures: isolatesFailures)
        self.mutation = mutation
    }

    /// Hands an event to the supervisor and checks the answer, which it leaves in `answer` even when it breaks an invariant.
    package mutating func handle(_ event: Supervisor.Event, now: Duration, answer: inout [Supervisor.Directive]) throws(Violation) {
        answer = mutation?(&supervisor, event, now) ?? supervisor.handle(event, now: now)
        try checker.enter(event, answer, of: supervisor, now: now)
    }

    /// Whether the supervisor has ended.
    package var isOver: Bool { checker.isOver }
    /// The time at which the supervisor has asked to be woken.
    package var wake: Duration? { checker.wake }

    /// Returns the life of a child, and what it has been told and has told.
    package func life(_ id: String) -> (incarnation: Incarnation, isReady: Bool, isToldToStop: Bool)? {
        Place.slot(of: id).flatMap { checker.lines[$0].life }.map { ($0.incarnation, $0.readySince != nil, $0.isToldToStop) }
    }
}
