import Supervision
import WorkerLifecycle

/// The effects of events.
extension WorkerChecker {
    mutating func note(_ event: WorkerMachine.Event, _ now: Duration) {
        switch event {
        case .spareRequested: if phase == .idle { isSpare = true }
        case .startRequested(let isRestart, let timeout):
            self.timeout = timeout
            noteStart(isRestart && phase == .idle ? nil : now + timeout)
        case .turnCame: if phase == .waitingForTurn, case .open = start { start = .open(deadline: now + timeout) }
        case .spawned:
            guard phase == .spawning else { break }
            phase = .announcing
            if isDoomed { add(.stopBeforeAnnounced, at: now + limits.failedStart, nil) }
        case .spawnFailed: noteSpawnFailure()
        case .adopted: noteAdoption(now)
        case .ticketRefused(let message):
            if isRunning { add(.ticket, at: now + limits.ticketRefusal, .startFailed(message)) }
        case .announced: noteAnnounced(now)
        case .announcementFailed(let error): if isRunning { condemn(now, .startFailed("\(error)"), .thrown) }
        case .linkAttached(let link, let refusal): noteLink(link, refusal, now)
        case .linkLost(let link): noteLoss(of: link, now)
        case .ready:
            guard isRunning || isCleaning, case .open = start else { break }
            start = .ready
            // A sign that is read after the exit begins no life any more.
            guard isRunning else { break }
            life = Life(lastSign: now, beat: now + limits.heartbeat, age: limits.age.map { now + $0 }, isReachable: false)
        case .startRefused:
            guard isRunning || isCleaning, case .open = start else { break }
            start = .failed(.thrown)
            guard isRunning else { break }
            add(.failedStart, at: now + limits.failedStart, nil)
        case .startNotTold(let error): if isRunning { condemn(now, .startFailed("\(error)"), .thrown) }
        case .heard: life?.lastSign = now
        case .executorAnswered:
            guard isRunning, life != nil else { break }
            life?.lastSign = now
            life?.probedAt = nil
            if life?.isSilenceTold == true { mustNoteSilence = false }
        case .exitAnnounced(let reason, _): noteLastWords(reason, now)
        case .messageSent: noteMessage()
        case .memoryMeasured(let bytes):
            guard life != nil, isRunning else { break }
            if let limit = limits.memoryLimit, bytes > limit {
                condemn(now, .memoryExceeded(bytes: bytes, limit: limit), .condemned)
            } else if let limit = limits.memory, bytes > limit {
                callForRecycling()
            }
        case .pauseChanged(let isPaused): self.isPaused = isPaused
        case .stopRequested(let shutdown): noteStop(shutdown, now)
        case .discarded: noteDiscard(now)
        case .exited(let reason):
            guard isRunning else { break }
            status = reason
            phase = .exited
            isCleaning = true
        case .cleanedUp: isCleaning = false
        case .timePassed: noteTime(now)
        }
    }

    private mutating func noteStart(_ deadline: Duration?) {
        guard start == .none else { return }
        isSpare = false
        switch phase {
        case .exited, .over: start = .failed(.any)
        case .idle, .waitingForTurn, .spawning, .announcing, .known:
            start = isDoomed || !verdicts.isEmpty ? .failed(.any) : .open(deadline: deadline)
            // The time for the first link is the start's from now on.
            if let due = dues[.noLink] { dues[.noLink] = hasBeenWelcomed ? Due(time: due.time, verdict: .hung) : nil }
        }
    }

    /// The worker was welcomed before, by another parent.
    private mutating func noteAdoption(_ now: Duration) {
        guard phase == .spawning, !isSpare else { return }
        phase = .known
        isAnnounced = true
        hasBeenWelcomed = true
        add(.noLink, at: now + limits.link, .hung)
        if isDoomed { add(.atOnce, at: now, nil) }
    }

    private mutating func noteSpawnFailure() {
        guard phase == .spawning else { return }
        if case .open = start { start = .failed(.thrown) }
        phase = .over
    }

    private mutating func noteAnnounced(_ now: Duration) {
        guard phase == .announcing else { return }
        phase = .known
        if isDoomed { add(.atOnce, at: now, nil) }
        if isSpare, current == nil, !isDoomed { add(.noLink, at: now + limits.firstLink, .shutdown) }
    }

    private mutating func noteLink(_ link: LinkID, _ refusal: String?, _ now: Duration) {
        links[link] = .waiting
        guard isRunning else { return }
        replaced = current
        if let refusal {
            condemn(now, .startFailed(refusal), .condemned)
        } else {
            current = link
            dues[.noLink] = nil
        }
    }

    private mutating func noteLoss(of link: LinkID, _ now: Duration) {
        guard links[link] != nil else { return }
        let wasWelcomed = links[link] != .waiting
        links[link] = .over
        guard current == link, isRunning else { return }
        current = nil
        if wasWelcomed, lastWords == nil { add(.noLink, at: now + limits.link, isSpare ? .shutdown : .hung) }
        if !wasWelcomed, phase == .known, isSpare { add(.noLink, at: now + limits.firstLink, .shutdown) }
    }

    private mutating func noteLastWords(_ reason: ExitReason, _ now: Duration) {
        guard isRunning || isCleaning, lastWords == nil else { return }
        lastWords = reason
        guard isRunning else { return }
        add(.departure, at: now + limits.departure, nil)
        if hasBeenWelcomed { dues[.noLink] = nil }
    }

    private mutating func noteMessage() {
        guard isRunning, life != nil else { return }
        life?.messages += 1
        if let limit = limits.messages, life?.messages == limit { callForRecycling() }
    }

    private mutating func callForRecycling() {
        if order == .none, lastWords == nil { isRecyclingDue = true }
    }

    /// Expects the process to be killed at once, which is then the reason of its end.
    private mutating func condemn(_ now: Duration, _ verdict: ExitReason, _ cause: Cause) {
        if cause == .condemned, isKilled { return }
        if case .open = start { start = .failed(cause) }
        add(.atOnce, at: now, verdict)
    }

    private mutating func noteDiscard(_ now: Duration) {
        switch phase {
        case .idle: phase = .over
        case .waitingForTurn: refuseStart()
        case .spawning: doom(.condemned, .shutdown)
        case .announcing, .known: condemn(now, .shutdown, .condemned)
        case .exited, .over: break
        }
    }

    private mutating func refuseStart() {
        start = .failed(.stopped)
        phase = .over
    }

    private mutating func doom(_ cause: Cause, _ verdict: ExitReason) {
        if case .open = start { start = .failed(cause) }
        if !isDoomed { verdicts.insert(verdict) }
        mayTellOwn = false
        isDoomed = true
    }

    // MARK: Stops

    private mutating func noteStop(_ shutdown: Shutdown, _ now: Duration) {
        switch phase {
        case .idle: phase = .over
        case .waitingForTurn: refuseStart()
        case .spawning: doom(.stopped, .shutdown)
        case .announcing, .known: noteStopOfProcess(shutdown, now)
        case .exited, .over: break
        }
    }

    private mutating func noteStopOfProcess(_ shutdown: Shutdown, _ now: Duration) {
        if isSpare { return condemn(now, .shutdown, .condemned) }
        let deadline = openDeadline
        if case .open = start { start = .failed(.stopped) }
        guard phase == .known else {
            isDoomed = true
            return add(.stopBeforeAnnounced, at: now + limits.failedStart, nil)
        }
        if isKilled { return }
        let end = shutdown.grace.map { now + $0 }
        guard isEffective(shutdown, end) else { return }
        stop = Stop(grace: shutdown.grace, end: end, drains: shutdown.drains)
        if shutdown.grace == .zero { return add(.atOnce, at: now, nil) }
        if order == .none, hasBeenWelcomed { order = .asked }
        guard order == .asked else { return mustTerminate = ladder }
        if let deadline, end == nil { add(.endlessStop, at: deadline, .startTimedOut) }
        for (link, state) in links {
            if case .welcomed(let isStartTold, _) = state { links[link] = .welcomed(isStartTold: isStartTold, isStopTold: false) }
        }
    }

    /// The time between SIGTERM and SIGKILL.
    private var ladder: Duration { min(stop?.grace ?? limits.termination, limits.termination) }

    private func isEffective(_ shutdown: Shutdown, _ end: Duration?) -> Bool {
        switch order {
        case .none: return true
        case .killed: return false
        case .terminated(let kill): return end.map { $0 < kill } ?? false
        case .asked:
            guard let end else { return false }
            return shutdown.grace == .zero || stop?.end.map { end < $0 } ?? true
        }
    }

    // MARK: Time

    private mutating func noteTime(_ now: Duration) {
        wake = nil
        switch phase {
        case .idle, .waitingForTurn, .exited, .over: return
        case .spawning:
            if let openDeadline, now >= openDeadline { doom(.condemned, .startTimedOut) }
        case .announcing, .known:
            if let openDeadline, now >= openDeadline, !isKilled {
                start = .failed(.condemned)
                add(.atOnce, at: now, .startTimedOut)
            }
            if order == .asked, let end = stop?.end, now >= end, !isKilled { mustTerminate = ladder }
            noteBeat(now)
            if let age = life?.age, now >= age {
                life?.age = nil
                callForRecycling()
            }
        }
    }

    /// Postpones all that a parent that was late itself has no right to decide: it may not have heard what was in time.
    mutating func excuseLateness(_ now: Duration) {
        guard let wake, now - max(wake, excusedUntil) > limits.heartbeat else { return }
        let lost = now - max(wake, excusedUntil)
        excusedUntil = now
        func later(_ deadline: Duration) -> Duration { max(deadline + lost, now + limits.heartbeat) }
        if let openDeadline { start = .open(deadline: later(openDeadline)) }
        for (reason, due) in dues { dues[reason] = Due(time: later(due.time), verdict: due.verdict) }
        if let end = stop?.end { stop?.end = later(end) }
        if case .terminated(let kill) = order { order = .terminated(kill: later(kill)) }
        life?.lastSign = now
        if life?.probedAt != nil { life?.probedAt = now }
    }

    private mutating func noteBeat(_ now: Duration) {
        guard let life, expectsSigns, now >= life.beat else { return }
        self.life?.beat = now + limits.heartbeat
        guard let life = self.life else { return }
        let isSilent = welcomed != nil && life.probedAt.map { now - $0 >= limits.heartbeatTimeout } ?? false
        if now - life.lastSign >= limits.heartbeatTimeout || isSilent && limits.restartsSilentExecutor {
            return add(.hung, at: now, .hung)
        }
        mustPing = welcomed != nil && !dues.values.contains { $0.time <= now }
        mustProbe = mustPing && life.probedAt == nil
        if mustPing, isSilent, !life.isSilenceTold { mustNoteSilence = true }
    }
}
