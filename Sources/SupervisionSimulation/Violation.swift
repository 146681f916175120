/// What must hold after every event.
public enum Invariant: String, Sendable, Hashable, CaseIterable {
    /// At most one life per path.
    case oneLife
    /// Incarnations of a path grow.
    case incarnationsGrow
    /// Restarts never exceed the intensity within the period.
    case intensity
    /// No restart comes before its time.
    case backoff
    /// Children are stopped one at a time, in reverse start order, when their supervisor ends.
    case stopOrder
    /// After a stop was requested nothing but a request starts the child.
    case stopWins
    /// A directive concerns a life that exists, and is given once.
    case directive
    /// Whatever waits for a time is woken for it.
    case wake
    /// After the end nothing lives, nothing waits, and nothing is said.
    case noLeak
    /// Every start and every stop comes to its end, in a bounded number of events.
    case quiescence
    /// An escalation reaches the parent exactly once.
    case escalation
    /// A supervisor ends by itself when its significant children have, and only then.
    case autoShutdown
    /// A removed id is unknown.
    case removal
    /// What lives by the supervisor's table lives.
    case table
    /// What a supervisor does is what the model does.
    case model
}

/// An invariant that was broken.
public struct Violation: Error, Sendable, Hashable, CustomStringConvertible {
    /// Which.
    public let invariant: Invariant
    /// How.
    public let text: String

    /// The invariant and the text.
    public var description: String { "\(invariant): \(text)" }

    init(_ invariant: Invariant, _ text: String) {
        self.invariant = invariant
        self.text = Self.plain(text)
    }

    /// Leaves the names of modules and types out of descriptions, which tell the same without them.
    static func plain(_ text: String) -> String {
        var text = text
        let noise = [
            "SupervisionSimulation.", "Supervision.", "Swift.", "Supervisor<String>.Change", "RestartType", "ChildSpecification<String>",
            "Shutdown.", "Model.Ending", "Model.ExpectedDirective",
        ]
        for word in noise { text.replace(word, with: "") }
        return text
    }
}
