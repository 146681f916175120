import Supervision

/// One life of a supervisor, under observation: what it answers is checked for the invariants and compared with the model.
struct Watched {
    var machine: Machine
    private(set) var checker: InvariantChecker
    private(set) var model: Model
    private let usesModel: Bool

    init(_ policy: SupervisionPolicy, seed: UInt64, isolatesFailures: Bool, checks: Checks, mutation: Machine.Mutation?) {
        machine = Machine(
            supervisor: Supervisor(policy: policy, seed: seed, isolatesFailures: isolatesFailures),
            mutation: mutation
        )
        checker = InvariantChecker(policy, isolatesFailures: isolatesFailures)
        model = Model(policy, isolatesFailures: isolatesFailures)
        usesModel = checks == .all
    }

    mutating func handle(_ event: Machine.Event, now: Duration, answer: inout [Machine.Directive]) throws(Violation) {
        answer = machine.handle(event, now: now)
        try checker.enter(event, answer, isEnding: machine.supervisor.isEnding, now: now)
        try checker.compare(with: machine.supervisor)
        guard usesModel else { return }
        try model.follow(event, answer, now: now)
        if let due = model.nextDeadline, checker.wake.map({ $0 > due }) ?? true {
            throw Violation(.wake, "something is due at \(due), and the wake is at \(checker.wake.map { "\($0)" } ?? "no time")")
        }
    }
}

/// The checks of a simulation.
package enum Checks: Sendable {
    /// The invariants, which hold for any supervisor, without the comparison with the model.
    case invariants
    /// The invariants and the comparison with the model.
    case all
}
