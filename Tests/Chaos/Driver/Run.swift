import ChaosHistory
import Glibc
import Processes

/// A run: a tree is started, harmed, left in peace, and ended.
struct Run {
    private let plan: Plan
    private let log: DriverLog
    private var root: RootProcess
    private var population: Population
    private var storm: Storm
    /// What goes on at a time: a process that is stopped, or a link that is clogged.
    private var held: [(until: Int64, life: Population.Life, fault: Record.Fault)] = []
    private var nextSample: Int64 = 0
    /// The time at which a root that has ended is started again.
    private var rootIsDue: Int64?
    /// Whether a root that has ended is started again.
    private var keepsRoot = true

    /// How often the driver looks: what it sees late only makes the checker more lenient.
    private static let tick = Duration.milliseconds(4)
    /// The time in which the whole tree must come up, or be there again.
    private static let patience: Int64 = 60_000_000_000
    /// The time that is left for open calls to end, which is more than they may take.
    private static let rest: Int64 = 6_000_000_000

    init(_ plan: Plan, _ kind: RootKind, _ storm: Storm) throws {
        self.plan = plan
        self.storm = storm
        log = try DriverLog(plan)
        root = try RootProcess(plan, kind, log)
        population = Population(plan, log)
    }

    /// Carries everything out.
    ///
    /// - Returns: What kept the run from being carried out, such as a tree that didn't start.
    mutating func carryOut(warmUp: Double, seconds: Double) async -> String? {
        var problem: String?
        do {
            try await root.start(&population)
            try await waitUntilUp("the tree didn't start")
            if warmUp > 0 {
                try await rage(for: warmUp, sampling: false)
                try await waitUntilUp("the tree wasn't there again after the warm-up")
                try await wait(until: Clock.now + Self.rest / 3) { _ in false }
            }
            sample(.before)
            try await rage(for: seconds, sampling: true)
            try await waitUntilUp("the tree wasn't there again after the storm")
            try await wait(until: Clock.now + Self.rest) { _ in false }
            sample(.after)
        } catch {
            problem = "\(error)"
        }
        await end()
        return problem
    }

    /// Harms the tree for a while, in which the senders send.
    private mutating func rage(for seconds: Double, sampling: Bool) async throws {
        close(open(plan.sendingFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
        let end = Clock.now + Int64(seconds * 1e9)
        var next = Clock.now + storm.pause()
        nextSample = 0
        try await wait(until: end) { run in
            while next <= Clock.now {
                run.strike(run.storm.blow())
                next += run.storm.pause()
            }
            if sampling, run.nextSample <= Clock.now {
                run.sample(.during)
                run.nextSample = Clock.now + 1_000_000_000
            }
            return Interruption.hasHappened
        }
        unlink(plan.sendingFile)
        for (_, life, fault) in held { release(life, fault) }
        held = []
    }

    private mutating func waitUntilUp(_ problem: String) async throws {
        let isUp = try await wait(until: Clock.now + Self.patience) { run in run.population.areUp(run.root.paths) }
        guard isUp else {
            let missing = root.paths.filter { !population.areUp([$0]) }
            throw DriverError("\(problem): \(missing.joined(separator: " ")) not ready; see \(plan.directory)/log")
        }
    }

    /// Looks again and again, until a time or until a condition holds.
    ///
    /// - Returns: Whether the condition holds.
    @discardableResult
    private mutating func wait(until end: Int64, _ condition: (inout Run) throws -> Bool) async throws -> Bool {
        while Clock.now < end {
            population.update()
            await root.look(&population)
            for index in held.indices.reversed() where held[index].until <= Clock.now {
                release(held[index].life, held[index].fault)
                held.remove(at: index)
            }
            try await restartRoot()
            if try condition(&self) { return true }
            try await Task.sleep(for: Self.tick)
        }
        return false
    }
}

// MARK: - The root

extension Run {
    /// Starts the root again when it has ended and has been away for as long as it should.
    private mutating func restartRoot() async throws {
        guard keepsRoot, root.child?.exitStatus != nil else { return }
        let due = rootIsDue ?? Clock.now + storm.absence()
        rootIsDue = due
        guard due <= Clock.now else { return }
        rootIsDue = nil
        try await root.start(&population)
    }
}

// MARK: - Faults

extension Run {
    private mutating func strike(_ blow: Storm.Blow) {
        guard let life = storm.choose(blow.place, among: population.living.filter { isAble(to: blow.fault, $0) }) else { return }
        let until = Clock.now + Int64(blow.fault == .stop ? blow.milliseconds : plan.clogMilliseconds) * 1_000_000
        let signal =
            switch blow.fault {
            case .kill: SIGKILL
            case .stop: SIGSTOP
            case .clog: blow.isUpward ? SIGUSR1 : SIGUSR2
            case .cut: SIGWINCH
            case .restart, .end: SIGTERM
            }
        // The record comes first: what follows from the fault must not come before it.
        log.record(.fault(blow.fault), of: life.process)
        guard population.send(signal, to: life) else { return }
        if blow.fault.isInterruption { held.append((until, life, blow.fault)) }
    }

    /// Returns whether a life can suffer a fault: one that is held up already is left alone, and one that isn't ready has no handler of
    /// signals.
    private func isAble(to fault: Record.Fault, _ life: Population.Life) -> Bool {
        switch fault {
        case .kill, .end: true
        case .stop: !held.contains { $0.life.process == life.process }
        // A daemon doesn't know the signal.
        case .cut: life.isReady && (life.path != "/" || root.isInhabitant) && !held.contains { $0.life.process == life.process }
        // The root has no link to clog.
        case .clog: life.isReady && life.path != "/" && !held.contains { $0.life.process == life.process }
        case .restart: life.isReady && !held.contains { $0.life.process == life.process && $0.fault == .stop }
        }
    }

    private func release(_ life: Population.Life, _ fault: Record.Fault) {
        if fault == .stop { _ = population.send(SIGCONT, to: life) }
        log.record(.continued, of: life.process)
        // A daemon says nothing itself.
        if population.isAlive(life) { log.record(.alive, of: life.process) }
    }
}

// MARK: - The end

extension Run {
    /// Ends the tree in order, and what doesn't end with it by force: this is then left.
    private mutating func end() async {
        for (_, life, fault) in held { release(life, fault) }
        held = []
        keepsRoot = false
        if let process = root.process, let child = root.child, child.exitStatus == nil {
            log.record(.fault(.end), of: process)
            try? child.send(.terminate)
            _ = try? await wait(until: Clock.now + Self.patience / 2) { $0.root.child?.exitStatus != nil }
            if child.exitStatus == nil {
                log.record(.left, of: process)
                try? child.send(.kill)
                _ = await child.waitForExit()
            }
        }
        _ = try? await wait(until: Clock.now + Self.rest) { $0.population.remaining.isEmpty }
        for life in population.remaining where life.path != "/" {
            log.record(.left, of: life.process)
            _ = population.send(SIGKILL, to: life)
        }
        _ = try? await wait(until: Clock.now + Self.rest) { $0.population.remaining.isEmpty }
    }

    private func sample(_ phase: Record.Sample.Phase) {
        guard let process = root.process, let sample = ProcessCounts.sample(of: process, phase, directory: plan.runtimeDirectory) else {
            return
        }
        log.record(.sampled(sample), of: process)
    }
}
