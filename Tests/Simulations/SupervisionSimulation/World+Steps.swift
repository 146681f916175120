import SimulationSupport
import Supervision

/// The steps of a scenario, as they are carried out on the world.
extension World {
    func happen(_ step: Scenario.Step) throws(Violation) {
        // A root that has ended has a successor, so that no step is in vain; one that was killed, when its children have died for it.
        if let former = groups.last(where: { $0.number == 0 }), former.isGone, former.openLives > 0 { return }
        if currentGroup[0] == nil { bringUp(group: 0, for: nil, seed: SplitMix64.drawn(scenario.seed, UInt64(groups.count))) }
        note { scenario.describe(step) }
        switch step.action {
        case .has:
            break
        case .start(let place, let specification):
            try request(.startRequested(specification), at: place)
        case .stop(let place):
            try request(.stopRequested(place.id), at: place)
        case .remove(let place):
            try request(.removeRequested(place.id), at: place)
        case .restart(let place):
            try request(.restartRequested(place.id), at: place)
        case .finish(let place):
            guard let life = currentLife[place.group][place.slot], lives[life].phase == .ready else { return }
            try send(.finished(place.id, lives[life].incarnation), to: lives[life].supervisor)
        case .end(let place, let reason):
            if let life = currentLife[place.group][place.slot] { end(life, reason) }
        case .hang(let place):
            if let life = currentLife[place.group][place.slot], lives[life].stop == nil { lives[life].isHung = true }
        case .failStarts(let place, let duration):
            startsFailUntil[place.group][place.slot] = time + duration
        case .repeatOldSigns(let place):
            let old = (currentLife[place.group][place.slot].map { lives[$0].incarnation } ?? 1) &- 1
            for event: Supervisor.Event in [.started(place.id, old), .exited(place.id, old, .hung), .startFailed(place.id, old, .hung)] {
                try request(event, at: place)
            }
        case .wake(let group):
            try request(.timePassed, at: Place(group: group, slot: 0))
        case .jump(let duration):
            jumped += duration
            for group in groups.indices where !groups[group].isGone {
                guard let wake = groups[group].wake else { continue }
                agenda.add(.wake(group: group, wake), at: worldTime(wake))
            }
        case .setPolicy(let group, let policy):
            try request(.policyChanged(policy), at: Place(group: group, slot: 0))
        case .setSpecification(let place, let specification):
            try request(.specificationChanged(specification), at: place)
        case .shutDown(let group):
            try request(.shutdownRequested(.shutdown), at: Place(group: group, slot: 0))
        }
    }

    private func request(_ event: Supervisor.Event, at place: Place) throws(Violation) {
        guard let group = currentGroup[place.group] else { return }
        try send(event, to: group)
    }
}
