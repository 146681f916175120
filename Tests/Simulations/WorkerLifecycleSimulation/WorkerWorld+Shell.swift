import Supervision
import WorkerLifecycle

/// The shell over the machines, and the parent above it.
extension WorkerWorld {
    func carryOut(_ directive: WorkerMachine.Directive, of host: Int) throws(WorkerViolation) {
        switch directive {
        case .process(let directive): try carryOut(directive, of: host)
        case .link(let directive): carryOut(directive, of: host)
        }
    }

    private func carryOut(_ directive: WorkerMachine.ProcessDirective, of host: Int) throws(WorkerViolation) {
        switch directive {
        case .takeTurn: add(.event(host: host, .turnCame), at: bucket.takeToken(now: now))
        case .spawn: add(.spawn(host: host), after: latency(host, upTo: 2_000, rarely: 200_000))
        case .announce: announce(host)
        case .expectNoLink: hosts[host].acceptsLinks = false
        case .refuse(let link, _): close(Int(link))
        case .ping(let link): write(.ping, to: link)
        case .probeExecutor(let link): write(.probe, to: link)
        case .noteExecutor: break
        case .measureMemory: add(.event(host: host, .memoryMeasured(bytes: hosts[host].worker.memory)), after: 100)
        case .terminate(let grace):
            add(.signal(host: host, isKill: false))
            add(.signal(host: host, isKill: true), after: grace.wholeMicroseconds)
        case .kill: add(.signal(host: host, isKill: true), after: drawn(host, below: 100))
        case .cleanUp: add(.cleanedUp(host: host), after: latency(host, upTo: 20_000, rarely: 800_000))
        case .startSucceeded: add(.pool(.fillRequested(after: .milliseconds(20))))
        case .startFailed, .lifeEnded: try end(host)
        case .gone: try noteGone(host)
        case .wake(let moment):
            hosts[host].wake = moment
            add(.wake(host: host, moment), at: moment)
        }
    }

    private func carryOut(_ directive: WorkerMachine.LinkDirective, of host: Int) {
        switch directive {
        case .welcome(let link): write(.welcome, to: link)
        case .close(let link): close(Int(link))
        case .introduce: break
        case .tellStart(let link):
            if has(host, .cannotBeTold) {
                add(.event(host: host, .startNotTold(Fault(text: "too large"))))
            } else {
                write(.start, to: link)
            }
        case .tellStop(let link, let stop): write(.stop(stop), to: link)
        case .bidFarewell(let link, _): write(.farewell, to: link)
        case .becameReachable, .becameUnreachable: break
        case .recycle: add(.event(host: host, .stopRequested(scenario.shutdown)), after: drawn(host, below: 2_000))
        }
    }

    private func announce(_ host: Int) {
        let delay = max(announcementsUntil - time, 0) + latency(host, upTo: 3_000, rarely: 100_000)
        let isRefused = has(host, .announcementFails)
        add(.event(host: host, isRefused ? .announcementFailed(Fault(text: "no room")) : .announced), after: delay)
    }

    private func close(_ link: Int) {
        guard links.indices.contains(link) else { return }
        links[link].isClosedByParent = true
        cut(link)
    }

    /// Lets the parent read a frame, or learn of a link's end.
    func hear(_ up: Up, on link: Int) throws(WorkerViolation) {
        let host = links[link].host
        guard !links[link].isLossTold else { return }
        if case .lost = up {
            links[link].isLossTold = true
            if links[link].isAttached { try send(.linkLost(UInt64(link)), to: host) }
            return
        }
        if links[link].isClosedByParent { return }
        // Of what was under way when the link broke, some is read and some isn't.
        if links[link].cut != nil, drawn(host, below: 2) == 0 { return }
        switch up {
        case .hello:
            // The kernel has confirmed its end, or it's of no use: the listener doesn't know it.
            guard hosts[host].acceptsLinks else { return close(link) }
            links[link].isAttached = true
            try send(.linkAttached(UInt64(link), refusal: links[link].isStranger ? "another protocol" : nil), to: host)
        case .pong: try send(.heard, to: host)
        case .executorPong: try send(.executorAnswered, to: host)
        case .ready: try send(.ready, to: host)
        case .startRefused: try send(.startRefused(Fault(text: "x")), to: host)
        case .exited(let reason): try send(.exitAnnounced(reason, UInt64(link)), to: host)
        case .lost: break
        }
    }

    // MARK: The parent

    func beginLife() throws(WorkerViolation) {
        guard isWanted, current == nil else { return }
        lives += 1
        let host: Int
        if let spare = bestSpare, let taken = hostOfSpare[spare] {
            host = taken
            hosts[host].isTaken = true
            try send(.taken(spare))
        } else {
            host = makeHost(spare: nil)
        }
        current = host
        if isPaused { try send(.pauseChanged(true), to: host) }
        try send(.startRequested(isRestart: lives > 1, timeout: scenario.startTimeout), to: host)
    }

    private var bestSpare: SparePoolMachine.SpareID? {
        let idle = pool.machine.idle
        func first(_ isFit: (WorkerMachine) -> Bool) -> SparePoolMachine.SpareID? {
            idle.first { spare in hostOfSpare[spare].map { isFit(hosts[$0].subject.machine) } ?? false }
        }
        return first(\.isWaiting) ?? first(\.isAlive)
    }

    /// Ends the life, or the start that has failed, so that another life may begin.
    private func end(_ host: Int) throws(WorkerViolation) {
        guard current == host else { throw WorkerViolation(.oneLife, "worker \(host) ends, which doesn't have the life") }
        try checkNothingLeft(host)
        current = nil
        add(.pool(.fillRequested(after: .milliseconds(20))))
        if isWanted { add(.beginLife, after: latency(host, upTo: 50_000, rarely: 600_000)) }
    }

    private func noteGone(_ host: Int) throws(WorkerViolation) {
        try checkNothingLeft(host)
        if let bound = hosts[host].stopBound, time - lateness > bound {
            throw WorkerViolation(.stopEnds, "worker \(host) took \(Double(time - lateness - bound) / 1_000) ms longer than its ladder")
        }
        if let spare = hosts[host].spare { add(.pool(.ended(spare)), after: latency(host, upTo: 10, rarely: 2_000)) }
    }

    private func checkNothingLeft(_ host: Int) throws(WorkerViolation) {
        if hosts[host].kernel == .dead, !hosts[host].hasDescendants { hosts[host].kernel = .confirmed }
        guard hosts[host].kernel == .none || hosts[host].kernel == .confirmed else {
            throw WorkerViolation(.oneLife, "worker \(host) is told to have ended, and is \(hosts[host].kernel)")
        }
    }

    // MARK: What is done to the world

    func step(_ step: WorkerScenario.Step) {
        note { scenario.describe(step) }
        switch step.action {
        case .stop(let shutdown, let comesBack):
            isWanted = comesBack
            if let current { add(.event(host: current, .stopRequested(shutdown))) }
        case .start:
            isWanted = true
            add(.beginLife)
        case .pause(let isPaused):
            self.isPaused = isPaused
            if let current { add(.event(host: current, .pauseChanged(isPaused))) }
        case .messages(let count):
            guard let current, scenario.limits.messages != nil, hosts[current].subject.machine.link != nil else { break }
            for _ in 0..<count { add(.event(host: current, .messageSent)) }
        case .memory(let bytes): if let current { hosts[current].worker.memory = bytes }
        case .exit(let target, let reason): if let host = host(target) { die(host, reason) }
        case .hang(let target): if let host = host(target) { hosts[host].worker.isHung = true }
        case .finish(let reason):
            if let current, hosts[current].worker.start == .ready { end(current, after: 0, reason) }
        case .cutLink(let target): if let host = host(target), let link = hosts[host].worker.link { cut(link) }
        case .dialAgain(let target): if let host = host(target), hosts[host].kernel == .alive { dial(host, isStranger: false) }
        case .strangerDials(let target): if let host = host(target), hosts[host].kernel == .alive { dial(host, isStranger: true) }
        case .failSpawns(let duration): spawnsFailUntil = time + duration
        case .delayAnnouncements(let duration): announcementsUntil = time + duration
        case .delayParent(let duration): delayParent(for: duration)
        case .nextWorker(let trait): nextTraits.insert(trait)
        case .discardSpare: if let host = host(.spare) { add(.event(host: host, .discarded)) }
        case .ageSpare: if let spare = pool.machine.idle.first { add(.pool(.aged(spare))) }
        case .fill: add(.pool(.fillRequested(after: .zero)))
        case .closePool: add(.pool(.closeRequested))
        case .wake:
            add(.pool(.timePassed))
            if let current { add(.event(host: current, .timePassed)) }
        }
    }

    private func host(_ target: WorkerScenario.Target) -> Int? {
        switch target {
        case .life: current
        case .spare: pool.machine.idle.first.flatMap { hostOfSpare[$0] }
        }
    }
}
