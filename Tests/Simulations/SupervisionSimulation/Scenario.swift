import SimulationSupport
package import Supervision

/// A world before its first moment, and all that will be done to it.
package struct Scenario: SeededScenario {
    /// A supervisor of the tree.
    package struct Group: Sendable {
        /// The supervisor's place; nil for the root.
        package var place: Place?
        /// The names from the root to the supervisor.
        package var path: String
        /// The policy with which the supervisor begins every life.
        package var policy: SupervisionPolicy
        /// The children that are supervisors: the number of the group by slot, nil for any other child.
        package var hosted: [Int?]
        /// The restart limits of the supervisor's children, by slot.
        package var limits: [RestartLimits?] = []
        /// The places of the supervisor's children in the order of its stops, by slot.
        package var stopPlaces: [StopPlace] = []
    }

    /// An action on the world at a given time.
    package struct Step: NumberedStep {
        /// The step's number in the whole scenario, which it keeps when others are left out.
        package var number: Int
        /// The time of the step, in microseconds.
        package var time: Int
        /// The action.
        package var action: Action
    }

    /// A moment at which the supervisor that is at work is killed.
    package struct CrashPoint: Sendable, Hashable, CustomStringConvertible {
        /// The number, from 1, of the world's event that the supervisor has just received.
        package var event: Int
        /// Whether the supervisor's directives for the event have been carried out.
        package var isAfterDirectives: Bool

        /// Creates a moment.
        package init(event: Int, isAfterDirectives: Bool) {
            self.event = event
            self.isAfterDirectives = isAfterDirectives
        }

        /// The moment as options of the simulator's command.
        package var description: String { "--crash \(event)" + (isAfterDirectives ? " --late" : "") }

        /// Returns every moment of a world with this number of events.
        package static func all(events: Int) -> [CrashPoint] {
            guard events > 0 else { return [] }
            return (1...events).flatMap {
                [CrashPoint(event: $0, isAfterDirectives: false), CrashPoint(event: $0, isAfterDirectives: true)]
            }
        }
    }

    /// An action on a world.
    package enum Action: Sendable, Hashable {
        /// The supervisor has this child from the beginning of each of its lives.
        case has(Place, ChildSpecification)
        /// A request to the supervisor.
        case start(Place, ChildSpecification)
        /// See ``start(_:_:)``.
        case stop(Place)
        /// See ``start(_:_:)``.
        case remove(Place)
        /// See ``start(_:_:)``.
        case restart(Place)
        /// The child has completed its work, and says so.
        case finish(Place)
        /// The child's life, if it has one, ends by itself; a supervisor's with all that it supervises.
        case end(Place, ExitReason)
        /// The child's life, if it has one, does not stop from now on until it is killed.
        case hang(Place)
        /// All starts of the child fail for this time, in microseconds.
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
        case setSpecification(Place, ChildSpecification)
        /// The supervisor is asked to end.
        case shutDown(group: Int)
    }

    /// The seed of all random numbers.
    package var seed: UInt64
    /// The supervisors, the root first.
    package var groups: [Group]
    /// The steps, in order of time.
    package var steps: [Step]
    /// Whether the root gives up single children and continues without them.
    package var isolatesFailuresAtRoot: Bool
    /// The moment at which a supervisor is killed; nil, the default, when none is.
    package var crash: CrashPoint?
}

extension Scenario {
    /// Returns the step in words.
    package func describe(_ step: Step) -> String {
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

    private func describe(_ specification: ChildSpecification) -> String {
        "\(specification.restart), \(specification.shutdown)"
            + (specification.isSignificant ? ", significant" : "")
            + (specification.isRetriedAtFirstStart ? ", retried at first start" : "")
            + (specification.restartLimits.map { ", \(Self.describe($0))" } ?? "")
            + Self.describe(specification.stopPlace)
    }

    private static func describe(_ place: StopPlace) -> String {
        switch place {
        case .chained: ""
        case .outside(let others): ", outside of the chain" + (others.isEmpty ? "" : " before \(others.joined(separator: ", "))")
        }
    }

    private static func describe(_ limits: RestartLimits) -> String {
        var words: [String] = []
        switch limits.intensity {
        case .restarts(let count)?: words.append("\(count) restarts")
        case .unlimited?: words.append("any number of restarts")
        case nil: break
        }
        if let period = limits.period { words.append("counted in \(period)") }
        if let counts = limits.counts { words.append("counting \(counts.rawValue)") }
        if let life = limits.shortestLife { words.append("a life of \(life) at least") }
        if let codes = limits.finalExitCodes { words.append("final codes \(codes.sorted())") }
        if let delay = limits.firstDelay { words.append("first after \(delay)") }
        if let delay = limits.delay { words.append("each after \(delay)") }
        if let backoff = limits.backoff { words.append("backoff \(describe(backoff))") }
        return words.isEmpty ? "limits of the policy" : words.joined(separator: ", ")
    }

    /// Returns the policy in words.
    static func describe(_ policy: SupervisionPolicy) -> String {
        "\(policy.strategy), \(policy.intensity) in \(policy.period), auto shutdown \(policy.autoShutdown), "
            + "stops in \(policy.stopOrder), backoff " + describe(policy.backoff)
            + (policy.limitsFailures == false ? ", no limit of failures" : "")
    }

    private static func describe(_ backoff: Backoff) -> String {
        "\(backoff.minimum)...\(backoff.maximum) × \(backoff.factor), jitter \(backoff.jitter), reset after \(backoff.resetAfter)"
    }

    /// The moment of the crash, if there is one.
    package var options: String { crash.map { " \($0)" } ?? "" }

    /// The tree in words, a line per supervisor.
    package var worldDescription: [String] {
        groups.enumerated().map { number, group in
            "\(group.path): \(Self.describe(group.policy))" + (number == 0 && isolatesFailuresAtRoot ? ", isolates failures" : "")
        }
    }
}
