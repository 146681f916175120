import Supervision

/// One life of a supervisor, under observation: what it answers goes through the books and is compared with the model.
struct Watched {
    var machine: Machine
    private(set) var books: Books
    private(set) var model: Model
    private let usesModel: Bool

    init(_ policy: SupervisionPolicy, seed: UInt64, isolatesFailures: Bool, checks: Checks, perversion: Machine.Perversion?) {
        machine = Machine(
            supervisor: Supervisor(policy: policy, seed: seed, isolatesFailures: isolatesFailures),
            perversion: perversion
        )
        books = Books(policy, isolatesFailures: isolatesFailures)
        model = Model(policy, isolatesFailures: isolatesFailures)
        usesModel = checks == .all
    }

    mutating func handle(_ event: Machine.Event, now: Duration, answer: inout [Machine.Directive]) throws(Violation) {
        answer = machine.handle(event, now: now)
        try books.enter(event, answer, isEnding: machine.supervisor.isEnding, now: now)
        try books.compare(with: machine.supervisor)
        guard usesModel else { return }
        try model.follow(event, answer, now: now)
        if let due = model.nextDeadline, books.wake.map({ $0 > due }) ?? true {
            throw Violation(.wake, "something is due at \(due), and the wake is at \(books.wake.map { "\($0)" } ?? "no time")")
        }
    }
}

/// What is looked at.
public enum Checks: Sendable {
    /// What may be demanded of any supervisor; the model of this one is left out.
    case invariants
    /// All.
    case all
}
