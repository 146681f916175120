import SimulationSupport
import Supervision
import SupervisionSimulation

/// A scenario of the simulator in the form in which both trees carry it out: without times, step by step.
///
/// Everything happens within one period. The steps of one moment that concern one supervisor are one burst: their ends and requests wait
/// for the supervisor together, in their order.
struct Trial: Sendable {
    struct Group: Sendable {
        var policy: SupervisionPolicy
        var isolatesFailures = false
        /// The groups of the children that are supervisors, by slot.
        var hosted: [Int?]
        /// The children that the supervisor has from the beginning of each of its lives.
        var children: [(slot: Int, specification: ChildSpecification)] = []
    }

    struct Burst: Sendable {
        var steps: [Int]
        var commands: [Command]

        /// Whether another command may wait together with these.
        func takes(_ other: Command) -> Bool {
            guard commands.last?.group == other.group else { return false }
            guard case .end(let place, _) = other else { return true }
            // A life ends once; which of two ends is the first isn't certain.
            return !commands.contains { if case .end(place, _) = $0 { true } else { false } }
        }
    }

    var groups: [Group]
    var bursts: [Burst] = []
    /// The places whose lives take no notice of a request to stop.
    private(set) var hung: Set<Place> = []
    /// The places outside of the chain.
    let outside: Set<Place>
    private let listed: Set<Difference>

    /// - Parameter listed: The differences without which the scenario is carried out.
    init(_ scenario: Scenario, listed: Set<Difference>) {
        self.listed = listed
        outside = Set(
            scenario.groups.enumerated().flatMap { number, group in
                group.stopPlaces.indices.filter { group.stopPlaces[$0] != .chained }.map { Place(group: number, slot: $0) }
            }
        )
        groups = scenario.groups.map { Group(policy: $0.policy, hosted: $0.hosted) }
        for number in groups.indices { groups[number].policy = plain(groups[number].policy) }
        groups[0].isolatesFailures = scenario.isolatesFailuresAtRoot && !listed.contains(.isolatedRoot)
        for step in scenario.steps {
            if case .hang(let place) = step.action, hosted(at: place) == nil { hung.insert(place) }
        }
        var moment: Int?
        for step in scenario.steps {
            if case .has(let place, let specification) = step.action {
                groups[place.group].children.append((place.slot, plain(specification, at: place, mayBeInvalid: false)))
            } else if let command = command(step.action) {
                let isSameMoment = moment == step.time && bursts.last?.takes(command) == true
                moment = step.time
                if isSameMoment {
                    bursts[bursts.count - 1].steps.append(step.number)
                    bursts[bursts.count - 1].commands.append(command)
                } else {
                    bursts.append(Burst(steps: [step.number], commands: [command]))
                }
            }
        }
    }

    func hosted(at place: Place) -> Int? { groups[place.group].hosted[place.slot] }

    /// The commands that make the tree; the bursts follow.
    var definition: [String] {
        var lines = ["scenario"]
        for (number, group) in groups.enumerated() {
            lines.append("group \(number) \(group.policy.words)")
            for slot in group.hosted.indices {
                let place = Place(group: number, slot: slot)
                lines.append("place \(place.words) \(group.hosted[slot] ?? -1) \(hung.contains(place))")
            }
        }
        for (number, group) in groups.enumerated() {
            lines += group.children.map { "has \(Place(group: number, slot: $0.slot).words) \($0.specification.words)" }
        }
        return lines
    }

    // MARK: - What both know

    private func plain(_ policy: SupervisionPolicy) -> SupervisionPolicy {
        var policy = policy
        if listed.contains(.backoff) { policy.backoff = .none }
        policy.period = .seconds(1_000_000)
        return policy
    }

    private func plain(_ specification: ChildSpecification, at place: Place, mayBeInvalid: Bool = true) -> ChildSpecification {
        var specification = specification
        // OTP knows no edges.
        if outside.contains(place) { specification.stopPlace = .unordered }
        if listed.contains(.ownLimits) { specification.restartLimits = nil }
        specification.restartLimits?.period = nil
        // OTP knows neither kinds of ends that count nor delays.
        if let limits = specification.restartLimits {
            specification.restartLimits = RestartLimits(intensity: limits.intensity, backoff: limits.backoff)
        }
        if listed.contains(.backoff) { specification.restartLimits?.backoff = nil }
        if listed.contains(.retriedFirstStart) { specification.isRetriedAtFirstStart = false }
        switch specification.shutdown {
        case .brutalKill: break
        case .timeout, .draining, .infinity:
            // No time limit is ever reached but that of a hung child, which is zero: a busy machine changes nothing.
            specification.shutdown = hung.contains(place) ? .timeout(.zero) : hosted(at: place) != nil ? .infinity : .timeout(.seconds(600))
        }
        if !mayBeInvalid, (try? specification.validate(under: groups[place.group].policy.autoShutdown)) == nil {
            specification.isSignificant = false
        }
        return specification
    }

    private func command(_ action: Scenario.Action) -> Command? {
        switch action {
        case .start(let place, let specification): .start(place, plain(specification, at: place))
        case .stop(let place): .stop(place)
        case .remove(let place): .remove(place)
        case .restart(let place): .restart(place)
        case .end(let place, let reason): .end(place, hosted(at: place) == nil ? self.reason(reason) : .killed)
        case .failStarts(let place, let time): .plan(place, Self.starts(from: time))
        case .setPolicy(let group, let policy): .setPolicy(group: group, plain(policy))
        case .setSpecification(let place, let specification): .setSpecification(place, plain(specification, at: place))
        case .shutDown(let group): .shutDown(group: group)
        case .has, .hang: nil
        // Events that a supervisor must ignore, and times.
        case .finish, .repeatOldSigns, .wake, .jump: nil
        }
    }

    private func reason(_ reason: ExitReason) -> Command.Reason {
        switch reason {
        case .normal: .normal
        case .shutdown: .shutdown
        case .exited(code: 0): .gone
        case .signaled: .killed
        case _ where reason.isPermanentFailure && !listed.contains(.permanentFailure): .failedForGood
        default: .failed
        }
    }

    /// Returns which of the next starts succeed: one time in eight none of a great many, else a few at random.
    private static func starts(from time: Int) -> [Bool] {
        if time % 8 == 0 { return Array(repeating: false, count: 60) }
        let bits = SplitMix64.mixed(UInt64(time))
        return [false] + (0..<Int(bits % 6)).map { bits >> (8 + UInt64($0)) & 1 == 1 }
    }
}
