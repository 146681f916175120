import SimulationSupport
import Supervision

/// The beginnings and ends of lives.
extension World {
    private enum Purpose: UInt64 {
        case startTime = 1, startFails, stopTime, tellTime, lateStart, saysExited, deathTime
    }

    private func drawn(_ life: Int, _ purpose: Purpose, below limit: Int) -> Int {
        Int(SplitMix64.drawn(lives[life].seed, purpose.rawValue) % UInt64(limit))
    }

    // MARK: - Directives

    func carryOut(_ directive: Supervisor.Directive, of group: Int) throws(Violation) {
        switch directive {
        case .start(let id, let incarnation, _):
            guard let slot = Place.slot(of: id) else { return }
            try begin(Place(group: groups[group].number, slot: slot), incarnation, under: group)
        case .stop(let id, _, let shutdown):
            guard let slot = Place.slot(of: id), let life = currentLife[groups[group].number][slot] else { return }
            stop(life, shutdown)
        case .wake(let time):
            groups[group].wake = time
            agenda.add(.wake(group: group, time), at: worldTime(time))
        case .escalate(let reason):
            hasEnded(group, reason)
        case .terminated(let reason):
            hasEnded(group, reason)
        case .autoShutdown:
            hasEnded(group, .shutdown)
        case .report, .removed, .refused:
            break
        }
    }

    /// Returns the time of the world, in microseconds, at which the supervisors' clock shows this time.
    func worldTime(_ time: Duration) -> Int {
        let (seconds, attoseconds) = time.components
        let microseconds = Int(seconds) * 1_000_000 + Int((attoseconds + 999_999_999_999) / 1_000_000_000_000)
        return max(self.time, microseconds - 1_000_000_000 - jumped)
    }

    private func begin(_ place: Place, _ incarnation: Incarnation, under group: Int) throws(Violation) {
        try checkLineage(place, group, incarnation)
        let seed = SplitMix64.drawn(groups[group].seed, 1_000 &+ UInt64(place.slot) << 32 &+ UInt64(incarnation))
        let life = lives.count
        lives.append(Life(place: place, supervisor: group, incarnation: incarnation, seed: seed))
        currentLife[place.group][place.slot] = life
        groups[group].openLives += 1
        let readyTime = time + drawn(life, .startTime, below: drawn(life, .lateStart, below: 2) == 0 ? 1_000 : 400_000)
        if startsFailUntil[place.group][place.slot] > time || drawn(life, .startFails, below: 25) == 0 {
            let reasons: [ExitReason] = [.startFailed("x"), .startTimedOut, .exited(code: 1), .normal, .exited(code: 78)]
            agenda.add(.failStart(life, reasons[drawn(life, .saysExited, below: reasons.count)]), at: readyTime)
        } else {
            agenda.add(.ready(life), at: readyTime)
        }
        if let hosted = scenario.groups[place.group].hosted[place.slot] {
            lives[life].hosted = groups.count
            bringUp(group: hosted, for: life, seed: seed)
        }
    }

    private func stop(_ life: Int, _ shutdown: Shutdown) {
        lives[life].stop = shutdown
        switch shutdown {
        case .brutalKill:
            agenda.add(.kill(life), at: time + drawn(life, .stopTime, below: 1_000))
            return
        case .timeout(let grace), .draining(let grace):
            agenda.add(.kill(life), at: time + worldTime(now + grace) - time)
        case .infinity:
            // A hung child that isn't killed ends by itself in the end.
            if lives[life].isHung { agenda.add(.kill(life), at: time + 600_000_000) }
        }
        guard !lives[life].isHung else { return }
        let stopTime = time + drawn(life, .stopTime, below: 300_000)
        agenda.add(lives[life].hosted == nil ? .end(life, .shutdown) : .shutDown(life), at: stopTime)
    }

    // MARK: - What happens

    func happen(_ item: Item) throws(Violation) {
        switch item {
        case .step(let index):
            try happen(scenario.steps[index])
        case .boot(let group, _, let specification):
            try send(.startRequested(specification), to: group)
        case .ready(let life):
            guard lives[life].phase == .starting else { return }
            lives[life].phase = .ready
            // A child that was told to stop while it started may still say that it is ready.
            if lives[life].stop != nil, drawn(life, .lateStart, below: 3) != 0 { return }
            let place = lives[life].place
            try send(.started(place.id, lives[life].incarnation), to: lives[life].supervisor)
        case .failStart(let life, let reason):
            guard lives[life].phase == .starting else { return }
            lives[life].failedToStart = lives[life].stop == nil || drawn(life, .saysExited, below: 2) == 0
            end(life, reason)
        case .end(let life, let reason):
            end(life, reason)
        case .shutDown(let life):
            guard lives[life].phase == .starting || lives[life].phase == .ready, !lives[life].isHung else { return }
            guard let hosted = lives[life].hosted else { return }
            try send(.shutdownRequested(.shutdown), to: hosted)
        case .kill(let life):
            end(life, .stopTimedOut)
        case .tell(let life):
            try tell(life)
        case .wake(let group, let time):
            guard groups[group].wake == time else { return }
            try send(.timePassed, to: group)
        }
    }

    /// Ends a life; that of a supervisor is over only when nothing of the supervisor is left.
    func end(_ life: Int, _ reason: ExitReason) {
        guard lives[life].phase == .starting || lives[life].phase == .ready else { return }
        lives[life].phase = .gone
        lives[life].reason = reason
        if let hosted = lives[life].hosted, !groups[hosted].isGone {
            bringDown(hosted)
        } else {
            isOver(life)
        }
    }

    /// Kills a supervisor's process, whatever it was doing.
    func crashed(_ group: Int) {
        guard !groups[group].isGone else { return }
        if let life = groups[group].life { end(life, .signaled(9)) } else { bringDown(group) }
    }

    /// Takes away a supervisor that hasn't ended; its children die for it, each in its time.
    private func bringDown(_ group: Int) {
        note { "\(scenario.groups[groups[group].number].path) is gone" }
        groups[group].isGone = true
        currentGroup[groups[group].number] = nil
        for slot in Place.ids.indices {
            guard let life = currentLife[groups[group].number][slot] else { continue }
            agenda.add(.end(life, .signaled(9)), at: time + drawn(life, .deathTime, below: 100_000))
        }
        if groups[group].openLives == 0, let life = groups[group].life { isOver(life) }
    }

    /// Takes note of a supervisor that has ended in order, and ends its own life with it.
    private func hasEnded(_ group: Int, _ reason: ExitReason) {
        groups[group].isGone = true
        currentGroup[groups[group].number] = nil
        guard let life = groups[group].life else { return }
        if lives[life].phase == .gone { return isOver(life) }
        guard lives[life].phase != .reported else { return }
        lives[life].phase = .gone
        lives[life].reason = reason
        isOver(life)
    }

    /// Takes note that nothing of a life is left, which its supervisor hears of after a while.
    private func isOver(_ life: Int) {
        agenda.add(.tell(life), at: time + drawn(life, .tellTime, below: drawn(life, .saysExited, below: 3) == 0 ? 200_000 : 500))
    }

    private func tell(_ life: Int) throws(Violation) {
        guard lives[life].phase == .gone, let reason = lives[life].reason else { return }
        let (place, group) = (lives[life].place, lives[life].supervisor)
        lives[life].phase = .reported
        currentLife[place.group][place.slot] = nil
        groups[group].openLives -= 1
        if let hosted = lives[life].hosted, groups[hosted].watched.checker.hasEscalated { groups[hosted].escalations += 1 }
        if groups[group].isGone {
            if groups[group].openLives == 0, let above = groups[group].life, lives[above].phase == .gone { isOver(above) }
        } else if lives[life].failedToStart {
            try send(.startFailed(place.id, lives[life].incarnation, reason), to: group)
        } else {
            try send(.exited(place.id, lives[life].incarnation, reason), to: group)
        }
    }
}
