import SimulationSupport
import Supervision
import WorkerLifecycle

extension WorkerWorld {
    /// A worker process, from its machine to the kernel.
    struct Host {
        enum Kernel {
            case none, alive, dead
            /// The process is dead, and the parent knows that.
            case confirmed
        }

        /// The seed of the random numbers that concern this process.
        let seed: UInt64
        let spare: SparePoolMachine.SpareID?
        let traits: Set<WorkerScenario.Trait>
        var subject: WorkerSubject
        var checker: WorkerChecker
        var isTaken = false
        /// The directives that are still to be carried out, one answer after the other.
        var queue: [[WorkerMachine.Directive]] = []
        var wake: Duration?
        var acceptsLinks = true
        /// The time at which nothing may be left of it, without the time that the parent was delayed for since the world began.
        var stopBound: Int?
        var kernel = Kernel.none
        var hasDescendants = false
        var worker = Worker()
        /// The number of random numbers that have been drawn.
        var draws: UInt64 = 0
    }

    /// The state of a worker.
    struct Worker {
        enum Start {
            case none, begun, ready, refused
        }

        var hasTicket = false
        var isHung = false
        /// The link that the worker believes to have.
        var link: Int?
        var start = Start.none
        /// The time at which the worker ends because it has been told to.
        var end: Int?
        var hasLeft = false
        var memory = 10
    }

    /// An action of a worker by itself.
    enum Act {
        case dial
        case startEnds
        /// Ends for the reason, if the time is still the one that was decided on.
        case leave(ExitReason, decided: Int?)
        case exit(ExitReason)
        /// The executor gets to answer a probe.
        case answerProbe(link: Int)
    }

    /// A link between a worker and its parent.
    struct Link {
        let host: Int
        let isStranger: Bool
        /// The time at which the link broke.
        var cut: Int?
        var isClosedByParent = false
        /// Whether the parent has been told of the link, or of its loss.
        var isAttached = false
        var isLossTold = false
        /// The time at which the last frame arrives, in each direction.
        var lastUp = 0
        var lastDown = 0
    }

    /// Returns a number that depends on the process and on the number of draws before.
    func drawn(_ host: Int, below limit: Int) -> Int {
        hosts[host].draws += 1
        return Int(SplitMix64.drawn(hosts[host].seed, hosts[host].draws) % UInt64(limit))
    }

    /// Returns a time that is usually short and sometimes long.
    func latency(_ host: Int, upTo short: Int, rarely long: Int) -> Int {
        drawn(host, below: drawn(host, below: 8) == 0 ? long : short)
    }

    func has(_ host: Int, _ trait: WorkerScenario.Trait) -> Bool { hosts[host].traits.contains(trait) }
}

// MARK: - Workers and the kernel

extension WorkerWorld {
    /// Asks the kernel for a process.
    func spawn(_ host: Int) throws(WorkerViolation) {
        guard time >= spawnsFailUntil else {
            try send(.spawnFailed(Fault(text: "no processes")), to: host)
            if let spare = hosts[host].spare { try send(.launchFailed(spare)) }
            return
        }
        hosts[host].kernel = .alive
        hosts[host].hasDescendants = true
        if hosts[host].spare == nil, has(host, .livesAlready) { return try adopt(host) }
        try send(.spawned, to: host)
        if let spare = hosts[host].spare { add(.pool(.launched(spare)), after: latency(host, upTo: 500, rarely: 100_000)) }
        if has(host, .exitsAtOnce) { add(.act(host: host, .exit(.exited(code: 78))), after: drawn(host, below: 3_000)) }
        add(.ticket(host: host), after: latency(host, upTo: 1_000, rarely: 20_000))
    }

    /// Lets the life of a former parent go on: its worker has begun, or is ready, and dials.
    private func adopt(_ host: Int) throws(WorkerViolation) {
        hosts[host].worker.hasTicket = true
        switch drawn(host, below: 4) {
        case 0: break
        case 1: beginStart(host)
        default: hosts[host].worker.start = .ready
        }
        try send(.adopted, to: host)
        if has(host, .diesInTheGap) { return die(host, .unknown) }
        if !has(host, .neverDialsAgain) { add(.act(host: host, .dial), after: latency(host, upTo: 100_000, rarely: 3_000_000)) }
    }

    func giveTicket(_ host: Int) throws(WorkerViolation) {
        guard hosts[host].kernel == .alive, !has(host, .closesTicket) else { return try send(.ticketRefused("closed"), to: host) }
        hosts[host].worker.hasTicket = true
        if !has(host, .neverDials) { add(.act(host: host, .dial), after: latency(host, upTo: 50_000, rarely: 800_000)) }
    }

    func act(_ act: Act, _ host: Int) {
        guard hosts[host].kernel == .alive, !hosts[host].worker.isHung else { return }
        switch act {
        case .dial: dial(host, isStranger: has(host, .speaksAnotherProtocol))
        case .startEnds: endStart(host)
        case .leave(let reason, let decided): if decided == hosts[host].worker.end { leave(host, reason) }
        case .exit(let reason): die(host, reason)
        case .answerProbe(let link): say(.executorPong, on: link)
        }
    }

    func dial(_ host: Int, isStranger: Bool) {
        guard hosts[host].acceptsLinks, hosts[host].worker.hasTicket else { return }
        links.append(Link(host: host, isStranger: isStranger))
        hosts[host].worker.link = links.count - 1
        say(.hello, on: links.count - 1)
    }

    private func endStart(_ host: Int) {
        guard hosts[host].worker.start == .begun, hosts[host].worker.end == nil else { return }
        if has(host, .startThrows) {
            hosts[host].worker.start = .refused
            if let link = hosts[host].worker.link { say(.startRefused, on: link) }
            leave(host, .startFailed("x"))
        } else {
            hosts[host].worker.start = .ready
            if let link = hosts[host].worker.link { say(.ready, on: link) }
        }
    }

    private func leave(_ host: Int, _ reason: ExitReason) {
        guard !hosts[host].worker.hasLeft else { return }
        hosts[host].worker.hasLeft = true
        if let link = hosts[host].worker.link { say(.exited(reason), on: link) }
        if has(host, .staysAfterFarewell) { return }
        // It doesn't wait for ever for its parent to take note.
        let patience = hosts[host].worker.link == nil ? 1_000 : 5_000_000
        add(.act(host: host, .exit(reason.isNormal ? .exited(code: 0) : .exited(code: 70))), after: patience)
    }

    func end(_ host: Int, after duration: Int, _ reason: ExitReason) {
        let moment = time + duration
        if let end = hosts[host].worker.end, end <= moment { return }
        hosts[host].worker.end = moment
        add(.act(host: host, .leave(reason, decided: moment)), after: duration)
    }

    func signal(_ host: Int, isKill: Bool) {
        guard hosts[host].kernel == .alive else { return }
        if isKill { return die(host, .signaled(9)) }
        if hosts[host].worker.isHung || has(host, .ignoresTermination) { return }
        guard hosts[host].worker.hasTicket else { return die(host, .signaled(15)) }
        end(host, after: latency(host, upTo: 100_000, rarely: 3_000_000), .shutdown)
    }

    func die(_ host: Int, _ reason: ExitReason) {
        guard hosts[host].kernel == .alive else { return }
        note { "worker \(host) dies: \(reason)" }
        hosts[host].kernel = .dead
        for link in links.indices where links[link].host == host { cut(link) }
        let delay = latency(host, upTo: 2_000, rarely: 50_000) + (has(host, .exitsLate) ? 1_000_000 : 0)
        add(.event(host: host, .exited(reason)), after: delay)
    }

    func cut(_ link: Int) {
        guard links[link].cut == nil else { return }
        let host = links[link].host
        links[link].cut = time
        let delay = latency(host, upTo: 3_000, rarely: 300_000)
        links[link].lastUp = max(links[link].lastUp, time + delay)
        add(.up(link: link, .lost), after: links[link].lastUp - time)
        add(.down(link: link, .lost), after: latency(host, upTo: 3_000, rarely: 300_000))
    }

    // MARK: Frames

    func say(_ up: Up, on link: Int) {
        let host = links[link].host
        guard links[link].cut == nil else { return }
        links[link].lastUp = max(links[link].lastUp, time + latency(host, upTo: 1_000, rarely: 30_000))
        add(.up(link: link, up), after: links[link].lastUp - time)
    }

    func write(_ down: Down, to number: UInt64) {
        let link = Int(number)
        guard links.indices.contains(link), links[link].cut == nil else { return }
        links[link].lastDown = max(links[link].lastDown, time + latency(links[link].host, upTo: 1_000, rarely: 30_000))
        add(.down(link: link, down), after: links[link].lastDown - time)
    }

    /// Lets the worker read a frame.
    func tell(_ down: Down, on link: Int) {
        let host = links[link].host
        guard hosts[host].kernel == .alive, !hosts[host].worker.isHung else { return }
        // What was under way when the link broke is lost.
        if links[link].cut != nil {
            if case .lost = down { noticeLoss(of: link) }
            return
        }
        switch down {
        case .welcome:
            switch hosts[host].worker.start {
            case .ready: say(.ready, on: link)
            case .refused: say(.startRefused, on: link)
            case .none, .begun: break
            }
        case .start: beginStart(host)
        case .ping: say(.pong, on: link)
        case .probe:
            if has(host, .neverYields) { break }
            // Long computations keep the executor for a while.
            let delay = has(host, .yieldsRarely) ? drawn(host, below: 30_000_000) : 0
            add(.act(host: host, .answerProbe(link: link)), after: delay)
        case .farewell:
            add(.act(host: host, .exit(.exited(code: 0))), after: has(host, .staysAfterFarewell) ? 60_000_000 : drawn(host, below: 2_000))
        case .stop(let stop): hearStop(stop, host)
        case .lost: break
        }
    }

    private func noticeLoss(of link: Int) {
        let host = links[link].host
        guard hosts[host].worker.link == link else { return }
        hosts[host].worker.link = nil
        if has(host, .neverDialsAgain) { return }
        add(.act(host: host, .dial), after: latency(host, upTo: 20_000, rarely: 900_000))
    }

    private func beginStart(_ host: Int) {
        guard hosts[host].worker.start == .none, hosts[host].worker.end == nil else { return }
        hosts[host].worker.start = .begun
        if has(host, .startHangs) { return }
        let duration = has(host, .startsSlowly) ? 3_000_000 : latency(host, upTo: 5_000, rarely: 200_000)
        add(.act(host: host, .startEnds), after: duration)
    }

    private func hearStop(_ stop: WorkerMachine.Stop, _ host: Int) {
        if has(host, .ignoresStop) { return }
        let isStarting = hosts[host].worker.start == .begun
        var duration = latency(host, upTo: 20_000, rarely: 2_000_000)
        if isStarting, has(host, .stopsStartSlowly) { duration = 3_000_000 }
        end(host, after: duration, .shutdown)
    }
}

/// An error of this world.
struct Fault: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}

extension Duration {
    /// The duration in microseconds, rounded up: a deadline isn't met before its time.
    var wholeMicroseconds: Int {
        let attoseconds = components.attoseconds
        return Int(components.seconds) * 1_000_000 + Int((attoseconds + 999_999_999_999) / 1_000_000_000_000)
    }
}
