public import Supervision

/// A world before its first moment, and all that will be done to it.
public struct Scenario: Sendable {
    /// A supervisor of the tree.
    public struct Group: Sendable {
        /// Where it stands; nil for the root.
        public var place: Place?
        /// The names from the root to it.
        public var path: String
        /// What it begins every life with.
        public var policy: SupervisionPolicy
        /// Which of its children are supervisors: the number of the group by slot.
        public var hosted: [Int?]
        /// How often and how soon its children may be restarted, by slot.
        public var limits: [RestartLimits?] = []
    }

    /// Something that is done to the world, at a time of its own.
    public struct Step: Sendable {
        /// Its number in the whole scenario, which it keeps when others are left out.
        public var number: Int
        /// When, in microseconds.
        public var time: Int
        /// What.
        public var action: Action
    }

    /// A moment at which whatever supervisor is at work is killed.
    public struct CrashPoint: Sendable, Hashable, CustomStringConvertible {
        /// Which event of the world it has just heard of, from 1.
        public var event: Int
        /// Whether it has done what the event led to.
        public var isAfterDirectives: Bool

        /// Names a moment.
        public init(event: Int, isAfterDirectives: Bool) {
            self.event = event
            self.isAfterDirectives = isAfterDirectives
        }

        /// As the simulator's command is told.
        public var description: String { "--crash \(event)" + (isAfterDirectives ? " --late" : "") }

        /// Every moment of a world of so many events.
        public static func all(events: Int) -> [CrashPoint] {
            guard events > 0 else { return [] }
            return (1...events).flatMap {
                [CrashPoint(event: $0, isAfterDirectives: false), CrashPoint(event: $0, isAfterDirectives: true)]
            }
        }
    }

    /// What can be done to a world.
    public enum Action: Sendable, Hashable {
        /// The supervisor has this child from the beginning of each of its lives.
        case has(Place, ChildSpecification<String>)
        /// A request to the supervisor.
        case start(Place, ChildSpecification<String>)
        /// See ``start(_:_:)``.
        case stop(Place)
        /// See ``start(_:_:)``.
        case remove(Place)
        /// See ``start(_:_:)``.
        case restart(Place)
        /// The child has done what it was there for, and says so.
        case finish(Place)
        /// The child's life, if it has one, ends by itself; a supervisor's with all that it supervises.
        case end(Place, ExitReason)
        /// The child's life, if it has one, does not stop from now on until it is killed.
        case hang(Place)
        /// For this long, in microseconds, all starts of the child fail.
        case failStarts(Place, for: Int)
        /// Signs of a life that is long over arrive at its supervisor.
        case repeatOldSigns(Place)
        /// The supervisor is woken without cause.
        case wake(group: Int)
        /// The clock jumps forward, in microseconds.
        case jump(Int)
        /// The supervisor is given another policy.
        case setPolicy(group: Int, SupervisionPolicy)
        /// The child is given another specification while it lives.
        case setSpecification(Place, ChildSpecification<String>)
        /// The supervisor is asked to end.
        case shutDown(group: Int)
    }

    /// Where all chance comes from.
    public var seed: UInt64
    /// The supervisors, the root first.
    public var groups: [Group]
    /// What is done, in order of time.
    public var steps: [Step]
    /// Whether the root gives up single children and lives on.
    public var isolatesFailuresAtRoot: Bool
    /// Where a supervisor is killed; nowhere by default.
    public var crash: CrashPoint?

    /// The same world with some of the steps.
    public func keeping(_ numbers: Set<Int>) -> Scenario {
        var scenario = self
        scenario.steps.removeAll { !numbers.contains($0.number) }
        return scenario
    }
}

extension Scenario {
    /// The step in words.
    public func describe(_ step: Step) -> String {
        "\(step.number) at \(Double(step.time) / 1_000) ms: \(describe(step.action))"
    }

    func path(_ place: Place) -> String {
        "\(groups[place.group].path)/\(place.id)"
    }

    private func describe(_ action: Action) -> String {
        switch action {
        case .has(let place, let specification): "\(path(place)) is there from the beginning: \(describe(specification))"
        case .start(let place, let specification): "start \(path(place)): \(describe(specification))"
        case .stop(let place): "stop \(path(place))"
        case .remove(let place): "remove \(path(place))"
        case .restart(let place): "restart \(path(place))"
        case .finish(let place): "\(path(place)) has finished"
        case .end(let place, let reason): "\(path(place)) ends: \(reason)"
        case .hang(let place): "\(path(place)) hangs"
        case .failStarts(let place, let time): "\(path(place)) can't start for \(Double(time) / 1_000) ms"
        case .repeatOldSigns(let place): "old signs of \(path(place))"
        case .wake(let group): "wake \(groups[group].path) early"
        case .jump(let time): "the clock jumps by \(Double(time) / 1_000) ms"
        case .setPolicy(let group, let policy): "policy of \(groups[group].path): \(Self.describe(policy))"
        case .setSpecification(let place, let specification): "specification of \(path(place)): \(describe(specification))"
        case .shutDown(let group): "shut \(groups[group].path) down"
        }
    }

    private func describe(_ specification: ChildSpecification<String>) -> String {
        "\(specification.restart), \(specification.shutdown)"
            + (specification.isSignificant ? ", significant" : "")
            + (specification.isRetriedAtFirstStart ? ", retried at first start" : "")
            + (specification.restartLimits.map { ", \(Self.describe($0))" } ?? "")
    }

    private static func describe(_ limits: RestartLimits) -> String {
        var words: [String] = []
        switch limits.intensity {
        case .restarts(let count)?: words.append("\(count) restarts")
        case .unlimited?: words.append("any number of restarts")
        case nil: break
        }
        if let period = limits.period { words.append("counted in \(period)") }
        if let backoff = limits.backoff { words.append("backoff \(describe(backoff))") }
        return words.isEmpty ? "limits of the policy" : words.joined(separator: ", ")
    }

    /// The policy in words.
    static func describe(_ policy: SupervisionPolicy) -> String {
        "\(policy.strategy), \(policy.intensity) in \(policy.period), auto shutdown \(policy.autoShutdown), backoff "
            + describe(policy.backoff)
    }

    private static func describe(_ backoff: Backoff) -> String {
        "\(backoff.minimum)...\(backoff.maximum) × \(backoff.factor), jitter \(backoff.jitter), reset after \(backoff.resetAfter)"
    }

    /// The tree in words, a line per supervisor.
    public var treeDescription: [String] {
        groups.enumerated().map { number, group in
            "\(group.path): \(Self.describe(group.policy))" + (number == 0 && isolatesFailuresAtRoot ? ", isolates failures" : "")
        }
    }
}
