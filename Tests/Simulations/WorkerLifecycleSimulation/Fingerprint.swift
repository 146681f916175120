import Supervision
import WorkerLifecycle

/// The state of a machine with all times relative to the present.
///
/// Machines that have the same fingerprint answer every event in the same way.
struct Fingerprint: Hashable {
    private var words: [Int64] = []
    private var reasons: [ExitReason] = []

    private mutating func add(_ word: Int) { words.append(Int64(word)) }
    private mutating func add(_ time: Duration?, _ now: Duration) {
        words.append(time.map { Int64(($0 - now) / .milliseconds(1)) } ?? .max)
    }
    private mutating func add(_ reason: ExitReason?) {
        add(reason == nil ? 0 : 1)
        if let reason { reasons.append(reason) }
    }
}

extension Fingerprint {
    init(_ machine: WorkerMachine, at now: Duration) {
        add(machine.isPaused ? 1 : 0)
        add(machine.announcedWake, now)
        switch machine.state {
        case .idle: add(0)
        case .waitingForTurn(let timeout):
            add(1)
            add(timeout, .zero)
        case .spawning(let spawning):
            add(2)
            add(spawning.starting?.deadline, now)
            add(spawning.condemnation)
        case .running(let process):
            add(3)
            add(process, now)
        case .cleaning(let outcome, let isExplained):
            add(4)
            add(isExplained ? 1 : 0)
            switch outcome {
            case .unused(let reason): add(reason)
            case .startFailed(let failure): add(failure)
            case .lifeEnded(let reason): add(reason)
            }
        case .ended(let failure):
            add(5)
            add(failure)
        }
    }

    private mutating func add(_ failure: WorkerMachine.Failure?) {
        switch failure {
        case nil: add(0)
        case .stopped: add(1)
        case .thrown: add(2)
        case .condemned(let reason, _):
            add(3)
            add(reason)
        case .exited(let reason):
            add(4)
            add(reason)
        }
    }

    private mutating func add(_ process: WorkerMachine.Process, _ now: Duration) {
        switch process.connection {
        case .announcing(let link): add(link.map { Int($0) } ?? -1)
        case .awaited(let deadline): add(deadline, now)
        case .unlinked(let deadline): add(deadline, now)
        case .linked(let link): add(Int(link))
        }
        switch process.life {
        case .spare: add(-1)
        case .starting(let starting): add(starting.deadline, now)
        case .ready(let ready):
            for time in [ready.lastSign, ready.beat, ready.age, ready.executor.probedAt] { add(time, now) }
            add(ready.executor.isSilenceTold ? 1 : 0)
            add(ready.messages)
            switch ready.recycling {
            case .none: add(0)
            case .due: add(1)
            case .requested: add(2)
            }
        case .failed(let failure): add(failure)
        }
        switch process.order {
        case .none: add(0)
        case .asked(let stop, let deadline):
            add(stop.grace, .zero)
            add(deadline, now)
        case .terminated(let kill): add(kill, now)
        case .killed: add(1)
        }
        add(process.verdict)
        add(process.lastWords)
        add(process.departure?.deadline, now)
        add(process.departure?.failure?.reason)
    }
}

extension WorkerChecker {
    /// Returns the same checker with all times relative to this one.
    func normalised(at now: Duration) -> WorkerChecker {
        var checker = self
        if case .open(let deadline) = start { checker.start = .open(deadline: deadline.map { $0 - now }) }
        if case .terminated(let kill) = order { checker.order = .terminated(kill: kill - now) }
        checker.stop?.end = stop?.end.map { $0 - now }
        checker.dues = dues.mapValues { Due(time: $0.time - now, verdict: $0.verdict) }
        checker.wake = wake.map { $0 - now }
        if let life {
            checker.life?.lastSign = life.lastSign - now
            checker.life?.beat = life.beat - now
            checker.life?.age = life.age.map { $0 - now }
            checker.life?.probedAt = life.probedAt.map { $0 - now }
        }
        return checker
    }
}
