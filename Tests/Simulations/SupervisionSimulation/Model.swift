import Supervision

/// A second implementation of a supervisor, as plain as possible: it searches lists, and keeps nothing to save time.
///
/// The model predicts what a supervisor starts, stops, forgets and ends with. It can't predict the length of a backoff, which it
/// takes from the answer. The model is hashable, so that states that have been seen can be recognised.
struct Model: Hashable {
    enum Launch { case first, again, restart }
    enum Follow { case stop, remove, start, siblings }

    enum State: Hashable {
        case starting, ready(since: Duration), stopping(Follow), stopped
        /// The number is that of the appointment; without one the child waits for its turn among its siblings.
        case waiting(until: Duration, appointment: Int?)
    }

    struct Child: Hashable {
        var specification: ChildSpecification
        var state: State
        var incarnation: Incarnation
        var launch = Launch.first
        var hasGivenUp = false
        var isFinishing = false
        var attempts = 0

        var id: String { specification.id }
        var isWaiting: Bool { if case .waiting = state { true } else { false } }
        var isAlive: Bool {
            switch state {
            case .starting, .ready, .stopping: true
            case .stopped, .waiting: false
            }
        }
        var isStopping: Bool { if case .stopping = state { true } else { false } }
        var isActive: Bool {
            switch state {
            case .starting, .ready, .waiting, .stopping(.start), .stopping(.siblings): true
            case .stopping(.stop), .stopping(.remove), .stopped: false
            }
        }
    }

    enum Ending: Hashable { case escalated, terminated(ExitReason), automatic }

    enum Course: Hashable {
        case steady
        case stoppingSiblings(turns: [String], members: [String], inOrder: [String], at: Duration)
        case startingSiblings(turns: [String], at: Duration)
        /// `turns`: the children that lived when the end began, in reverse start order. `isChain`: whether all of them are a chain.
        case ending(turns: [String], isChain: Bool, Ending)
        case ended
    }

    /// A directive that the model predicts; the invariant checker judges reports and wakes.
    enum ExpectedDirective: Hashable {
        case start(String, Incarnation, attempt: Int)
        case stop(String, Incarnation)
        case removed(String)
        case refused(String?)
        case ended(Ending)
    }

    var children: [Child] = []
    var course = Course.steady
    var policy: SupervisionPolicy
    let isolatesFailures: Bool
    var restarts: [Duration] = []
    /// The restarts of the children that are counted by themselves.
    var ownRestarts: [String: [Duration]] = [:]
    var last: [String: Incarnation] = [:]
    var appointments = 0

    // Used while an event is handled, and empty between two.
    var now = Duration.zero
    var expectedDirectives: [ExpectedDirective] = []
    var answer: [Machine.Directive] = []

    init(_ policy: SupervisionPolicy, isolatesFailures: Bool) {
        self.policy = policy
        self.isolatesFailures = isolatesFailures
    }

    /// The next time at which the supervisor has something to do.
    var nextDeadline: Duration? {
        if isEnding { return nil }
        var next: Duration?
        for case .waiting(let time, .some) in children.lazy.map(\.state) { next = min(next ?? time, time) }
        if case .startingSiblings(_, let at) = course, at > now { next = min(next ?? at, at) }
        return next
    }

    var isEnding: Bool {
        switch course {
        case .ending, .ended: true
        case .steady, .stoppingSiblings, .startingSiblings: false
        }
    }

    /// Handles an event and compares the expected directives with the answer.
    mutating func follow(_ event: Machine.Event, _ answer: [Machine.Directive], now: Duration) throws(Violation) {
        self.now = now
        self.answer = answer
        expectedDirectives.removeAll(keepingCapacity: true)
        if course != .ended {
            try handle(event)
            try proceed()
        }
        self.answer = []
        try compare(with: answer, event)
        expectedDirectives.removeAll(keepingCapacity: true)
    }

    private func compare(with answer: [Machine.Directive], _ event: Machine.Event) throws(Violation) {
        var index = 0
        for directive in answer {
            guard let given = Self.expectedDirective(directive) else { continue }
            guard index < expectedDirectives.count, expectedDirectives[index] == given else {
                let expected = Array(expectedDirectives.dropFirst(index))
                throw Violation(invariant(for: given), "after \(event): \(given) was not to be expected, but \(expected)")
            }
            index += 1
        }
        guard index == expectedDirectives.count else {
            let missing = Array(expectedDirectives.dropFirst(index))
            throw Violation(invariant(for: missing[0]), "after \(event) these are missing: \(missing)")
        }
    }

    private func invariant(for directive: ExpectedDirective) -> Invariant {
        if case .ended(.automatic) = directive { return .autoShutdown }
        if case .ending(_, _, .automatic) = course { return .autoShutdown }
        return .model
    }

    private static func expectedDirective(_ directive: Machine.Directive) -> ExpectedDirective? {
        switch directive {
        case .start(let id, let incarnation, let attempt): .start(id, incarnation, attempt: attempt)
        case .stop(let id, let incarnation, _): .stop(id, incarnation)
        case .removed(let id): .removed(id)
        case .refused(let id, _): .refused(id)
        case .escalate: .ended(.escalated)
        case .terminated(let reason): .ended(.terminated(reason))
        case .autoShutdown: .ended(.automatic)
        case .report, .wake: nil
        }
    }

    /// Returns the model without what makes no difference to the future: the incarnations, the time, and what is long past.
    func normalised(at now: Duration) -> Model {
        var model = self
        model.now = .zero
        model.last = [:]
        model.appointments = 0
        model.restarts = restarts.filter { $0 >= now - policy.period }.map { $0 - now }
        for child in children {
            let recent = ownRestarts[child.id]?.filter { $0 >= now - period(of: child) }.map { $0 - now } ?? []
            model.ownRestarts[child.id] = recent.isEmpty ? nil : recent
        }
        let appointments = children.compactMap { if case .waiting(_, let appointment?) = $0.state { appointment } else { nil } }.sorted()
        for index in children.indices {
            model.children[index].incarnation = 0
            switch children[index].state {
            case .ready(let since):
                model.children[index].state = .ready(since: max(since - now, .zero - backoff(of: children[index]).resetAfter))
            case .waiting(let time, let appointment):
                let rank = appointment.flatMap(appointments.firstIndex)
                model.children[index].state = .waiting(until: time - now, appointment: rank)
            case .starting, .stopping, .stopped:
                break
            }
        }
        switch course {
        case .stoppingSiblings(let turns, let members, let inOrder, let at):
            model.course = .stoppingSiblings(turns: turns, members: members, inOrder: inOrder, at: max(at - now, .zero))
        case .startingSiblings(let turns, let at):
            model.course = .startingSiblings(turns: turns, at: max(at - now, .zero))
        case .steady, .ending, .ended:
            break
        }
        return model
    }
}
