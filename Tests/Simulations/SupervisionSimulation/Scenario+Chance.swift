import SimulationSupport
import Supervision

extension Scenario {
    /// Creates the scenario of a seed.
    package init(seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        let levels = Int.random(in: 1...3, using: &dice)
        var groups = [Group(place: nil, path: "root", policy: Self.policy(&dice), hosted: [])]
        var depths = [1]
        var number = 0
        while number < groups.count {
            for slot in 0..<Int.random(in: 1...Place.ids.count, using: &dice) {
                guard depths[number] < levels, groups.count < 6, dice.oneIn(3) else {
                    groups[number].hosted.append(nil)
                    continue
                }
                groups[number].hosted.append(groups.count)
                let place = Place(group: number, slot: slot)
                groups.append(
                    Group(place: place, path: "\(groups[number].path)/\(place.id)", policy: Self.policy(&dice), hosted: [])
                )
                depths.append(depths[number] + 1)
            }
            number += 1
        }
        for number in groups.indices {
            groups[number].limits = groups[number].hosted.map { _ in Self.limits(&dice) }
            groups[number].stopPlaces = groups[number].hosted.map { _ in Self.stopPlace(&dice) }
        }
        self.seed = seed
        self.groups = groups
        isolatesFailuresAtRoot = dice.oneIn(4)
        steps = []

        for group in groups.indices {
            for slot in groups[group].hosted.indices where !dice.oneIn(4) {
                add(0, .has(Place(group: group, slot: slot), specification(Place(group: group, slot: slot), &dice)))
            }
        }
        var time = 0
        for _ in 0..<Int.random(in: 1...80, using: &dice) {
            time += dice.oneIn(3) ? 0 : Int.random(in: 0...dice.one(of: [1_000, 100_000, 2_000_000]), using: &dice)
            add(time, action(&dice))
        }
    }

    private mutating func add(_ time: Int, _ action: Action) {
        steps.append(Step(number: steps.count, time: time, action: action))
    }

    /// Returns the limits that a child has for itself, if it has any.
    private static func limits(_ dice: inout SplitMix64) -> RestartLimits? {
        guard dice.oneIn(4) else { return nil }
        return RestartLimits(
            intensity: dice.one(of: [nil, .unlimited, 0, 1, 3, 10]),
            period: dice.oneIn(2) ? .milliseconds(Int.random(in: 1...20_000, using: &dice)) : nil,
            backoff: dice.oneIn(2) ? backoff(&dice) : nil
        ).withRules(&dice)
    }

    private static func stopPlace(_ dice: inout SplitMix64) -> StopPlace {
        if dice.oneIn(2) { return .chained }
        return .outside(before: dice.oneIn(2) ? [] : [dice.one(of: Place.ids), dice.one(of: Place.ids)])
    }

    private static func backoff(_ dice: inout SplitMix64) -> Backoff {
        let minimum = Int.random(in: 0...500, using: &dice)
        return dice.oneIn(3)
            ? Backoff(minimum: .zero, maximum: .zero, resetAfter: .milliseconds(Int.random(in: 0...10_000, using: &dice)))
            : Backoff(
                minimum: .milliseconds(minimum),
                maximum: .milliseconds(minimum + Int.random(in: 0...5_000, using: &dice)),
                factor: dice.one(of: [1, 1.5, 2, 3]),
                jitter: dice.one(of: [0, 0.5, 1]),
                resetAfter: .milliseconds(Int.random(in: 0...10_000, using: &dice))
            )
    }

    private static func policy(_ dice: inout SplitMix64) -> SupervisionPolicy {
        let backoff = backoff(&dice)
        var policy = SupervisionPolicy(
            dice.one(of: SupervisionPolicy.Strategy.allCases),
            intensity: dice.one(of: [0, 1, 2, 3, 5, 10, 50]),
            period: .milliseconds(Int.random(in: 1...20_000, using: &dice)),
            backoff: backoff,
            autoShutdown: dice.one(of: SupervisionPolicy.AutoShutdown.allCases),
            stopOrder: dice.oneIn(5) ? .chain : .chainOfStart
        )
        policy.limitsFailures = dice.oneIn(2) ? false : nil
        return policy
    }

    private func specification(_ place: Place, _ dice: inout SplitMix64) -> ChildSpecification {
        let restart = dice.one(of: [RestartType.permanent, .permanent, .transient, .temporary])
        // Now and then one that is to be refused.
        let mayBeSignificant = restart != .permanent && groups[place.group].policy.autoShutdown != .never || dice.oneIn(30)
        let shutdowns: [Shutdown] = [.brutalKill, .timeout(.milliseconds(Int.random(in: 1...3_000, using: &dice))), .infinity]
        return ChildSpecification(
            id: place.id,
            restart: restart,
            shutdown: dice.one(of: shutdowns),
            isSignificant: mayBeSignificant && dice.oneIn(2),
            isRetriedAtFirstStart: dice.oneIn(3),
            restartLimits: groups[place.group].limits[place.slot],
            stopPlace: groups[place.group].stopPlaces[place.slot]
        )
    }

    private func action(_ dice: inout SplitMix64) -> Action {
        let group = Int.random(in: 0..<groups.count, using: &dice)
        let place = Place(group: group, slot: Int.random(in: 0..<groups[group].hosted.count, using: &dice))
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<32: return .end(place, reason(&dice))
        case 32..<37:
            guard groups.count > 1 else { return .end(place, reason(&dice)) }
            return .end(groups[Int.random(in: 1..<groups.count, using: &dice)].place ?? place, reason(&dice))
        case 37..<40: return .finish(place)
        case 40..<52: return .start(place, specification(place, &dice))
        case 52..<60: return .stop(place)
        case 60..<66: return .remove(place)
        case 66..<73: return .restart(place)
        case 73..<78: return .hang(place)
        case 78..<84: return .failStarts(place, for: Int.random(in: 1_000...3_000_000, using: &dice))
        case 84..<87: return .repeatOldSigns(place)
        case 87..<89: return .wake(group: group)
        case 89..<92: return .jump(Int.random(in: 1...30_000_000, using: &dice))
        case 92..<95:
            var policy = Self.policy(&dice)
            if !dice.oneIn(4) { policy.autoShutdown = groups[group].policy.autoShutdown }
            return .setPolicy(group: group, policy)
        case 95..<98: return .setSpecification(place, specification(place, &dice))
        default: return .shutDown(group: group)
        }
    }

    private func reason(_ dice: inout SplitMix64) -> ExitReason {
        dice.one(of: [
            .normal, .normal, .exited(code: 0), .failed("x"), .failed("x"), .exited(code: 1), .exited(code: 75), .signaled(11), .hung,
            .unknown, .exited(code: 78), .exited(code: 125),
        ])
    }
}

extension RestartLimits {
    /// The limits with, now and then, the rules of programs: what counts, what is final, and how long a restart waits.
    fileprivate func withRules(_ dice: inout SplitMix64) -> RestartLimits {
        guard dice.oneIn(2) else { return self }
        var limits = self
        limits.counts = dice.one(of: Counted.allCases)
        limits.shortestLife = dice.oneIn(2) ? .milliseconds(Int.random(in: 1...2_000, using: &dice)) : nil
        limits.finalExitCodes = dice.one(of: [nil, [], [78], [1]])
        limits.firstDelay = dice.oneIn(4) ? .milliseconds(Int.random(in: 0...500, using: &dice)) : nil
        limits.delay = dice.oneIn(4) ? .milliseconds(Int.random(in: 0...500, using: &dice)) : nil
        return limits
    }
}
