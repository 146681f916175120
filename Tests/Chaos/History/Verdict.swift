/// What a history proves.
package struct Verdict: Sendable {
    /// A rule that a run must keep.
    package enum Rule: String, Sendable, CaseIterable {
        /// What was acknowledged or answered was handled.
        case acknowledgedLost = "acknowledged_lost"
        /// No incarnation handles a message twice.
        case executedTwice = "executed_twice"
        /// No second incarnation handles a message that a first one has begun, unless the message says that it may be repeated.
        case executedAgain = "executed_again"
        /// An incarnation begins the messages of one sender in the order in which they were sent.
        case outOfOrder = "out_of_order"
        /// A path has one life at a time.
        case livedTwice = "lived_twice"
        /// Each call ends within some seconds in which its whole route is there.
        case unresolved
        /// What has failed is there again at the end.
        case notBack = "not_back"
        /// The supervisor has at the end what it had before.
        case leaked
    }

    /// A place in the history where a rule was broken.
    package struct Violation: Hashable, Sendable {
        package let rule: Rule
        /// What happened, and where.
        package let text: String
    }

    /// The faults of one kind against one part of the tree.
    package struct FaultRow: Hashable, Sendable {
        package let fault: Record.Fault
        package let role: Record.Role
        /// How many there were.
        package var injected = 0
        /// After how many of them the path was there again.
        package var survived = 0
        package var lost: Int { injected - survived }
    }

    /// What became of the messages.
    package struct Messages: Hashable, Sendable {
        package var sent = 0
        package var acknowledged = 0
        package var executions = 0
        /// The calls that have thrown an error, by the error's code.
        package var failures: [String: Int] = [:]
        /// The one-way messages without acknowledgement that were accepted and never handled, which is allowed.
        package var plainLost = 0
        /// The messages whose sender was killed before the call had ended.
        package var abandoned = 0
    }

    /// Times in milliseconds, and what they mean in sum.
    package struct Times: Hashable, Sendable {
        /// The times, the shortest first.
        package let milliseconds: [Double]

        init(nanoseconds: [Int64]) { milliseconds = nanoseconds.sorted().map { Double($0) / 1e6 } }

        /// Returns the time that a share of all don't exceed, by nearest rank; `nil` when there is none.
        package func percentile(_ share: Double) -> Double? {
            if milliseconds.isEmpty { return nil }
            return milliseconds[max(Int((Double(milliseconds.count) * share / 100).rounded(.up)) - 1, 0)]
        }
    }

    /// What the supervisor has more at the end than before; each counts for itself.
    package struct Leaks: Hashable, Sendable {
        package var descriptors = 0
        package var threads = 0
        package var zombies = 0
        package var sockets = 0
        /// The processes that live although the run has ended.
        package var processes = 0
        /// The growth of the resident memory, in percent.
        package var memoryPercent = 0.0
        /// The growth in each minute of the storm, by least squares.
        package var slopes: Slopes?
    }

    /// The growth in each minute.
    package struct Slopes: Hashable, Sendable {
        package var kibibytes: Double
        package var descriptors: Double
        package var threads: Double
    }

    /// What became of the workers below a root that was killed.
    package struct Adoption: Hashable, Sendable {
        package var rootsKilled = 0
        /// The workers that had lived before, and lived on under the next root.
        package var adopted = 0
        /// Those that were replaced.
        package var replaced = 0
    }

    /// How often each rule was broken.
    package internal(set) var counts: [Rule: Int] = [:]
    /// The first violations of each rule.
    package internal(set) var violations: [Violation] = []
    package internal(set) var messages = Messages()
    /// The times from a kill until the path is ready again, of those that nothing else disturbed.
    package internal(set) var recoveries = Times(nanoseconds: [])
    /// The same for each part of the tree.
    package internal(set) var recoveriesByRole: [Record.Role: Times] = [:]
    package internal(set) var faults: [FaultRow] = []
    package internal(set) var leaks = Leaks()
    package internal(set) var adoption = Adoption()
    /// The supervisor's samples during the storm, for a plot.
    package internal(set) var samples: [(time: Int64, sample: Record.Sample)] = []

    /// Whether no rule was broken.
    package var isOK: Bool { counts.values.allSatisfy { $0 == 0 } }

    /// The number of violations of which the text is kept, for each rule.
    private static let kept = 10

    mutating func add(_ rule: Rule, _ text: @autoclosure () -> String) {
        counts[rule, default: 0] += 1
        if counts[rule, default: 0] <= Self.kept { violations.append(Violation(rule: rule, text: text())) }
    }
}
