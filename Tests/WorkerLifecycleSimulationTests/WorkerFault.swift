import Supervision
import WorkerLifecycle
import WorkerLifecycleSimulation

/// A mistake that the machine of a worker or of a pool could make; it stands between a machine that makes none and the world.
enum PlantedFault: String, CaseIterable {
    // Rules that were followed once.
    /// A start that is stopped is given a second to end, whatever the stop grants.
    case overtakesAStopDuringAStart
    /// The pool believes that it's closed when it has waited for a turn.
    case closesThePoolAfterAWait
    /// A life that is recycled ends without handling what it has taken.
    case recyclesWithoutDraining
    /// A life is recycled while it's paused.
    case recyclesWhilePaused
    /// A process that has closed the descriptor of its ticket is left to itself.
    case ignoresARefusedTicket
    /// That the ticket was refused is the reason, whatever the exit says.
    case believesTheTicketNotTheExit

    // Others.
    /// The owner isn't asked to say when time has passed.
    case losesAWake
    /// A link is welcomed before the processes above know of the process.
    case welcomesTooEarly
    /// A failed start is told when the worker tells it, and not when its process is gone.
    case tellsAFailedStartAtOnce
    /// A worker that has lost its link isn't told on the next one that it is to stop.
    case tellsAStopOnce
    /// A link's loss is the end.
    case killsWhenALinkIsLost
    /// A parent that was late itself blames its worker.
    case blamesTheWorkerForItsOwnDelay
    /// A worker whose executor is silent is given up, though that is only to be reported.
    case blamesABusyExecutor
    /// The executor is probed once and never again.
    case probesOnce
    /// A parent that was late itself takes a start for too slow.
    case blamesTheStartForItsOwnDelay
    /// An exit before the processes above know of the process is overlooked.
    case overlooksAnEarlyExit
    /// A spare that dies while it waits isn't replaced.
    case forgetsADeadSpare
    /// A spare whose launch was under way when the pool was closed is left.
    case leavesALateSpare
    /// SIGTERM is followed by SIGKILL at once.
    case grantsNoTermination
    /// A process that occupies more memory than its limit goes on.
    case overlooksTheMemoryLimit

    /// The invariant that a rule which was followed once breaks.
    var invariant: WorkerInvariant? {
        switch self {
        case .closesThePoolAfterAWait: .recovery
        case .recyclesWithoutDraining, .recyclesWhilePaused: .recycling
        case .ignoresARefusedTicket: .wake
        case .believesTheTicketNotTheExit: .startEndsOnce
        case .blamesTheWorkerForItsOwnDelay, .blamesTheStartForItsOwnDelay: .grace
        default: nil
        }
    }

    var mutations: Mutations {
        Mutations(worker: worker, pool: pool)
    }

    /// A companion for the machine's whole life, with a memory of its own.
    private var worker: (() -> WorkerSubject.Mutation)? {
        switch self {
        case .overtakesAStopDuringAStart: { Self.overtaking() }
        case .recyclesWithoutDraining:
            Self.changing { directive in
                guard case .link(.tellStop(let link, let stop)) = directive else { return [directive] }
                return [.link(.tellStop(link, WorkerMachine.Stop(grace: stop.grace, drains: false)))]
            }
        case .recyclesWhilePaused: Self.overlooking { if case .pauseChanged(true) = $0 { true } else { false } }
        case .ignoresARefusedTicket: Self.overlooking { if case .ticketRefused = $0 { true } else { false } }
        case .believesTheTicketNotTheExit: { Self.believingTheTicket() }
        case .losesAWake: Self.changing { if case .process(.wake) = $0 { [] } else { [$0] } }
        case .welcomesTooEarly:
            {
                { machine, event, now in
                    let directives = machine.handle(event, now: now)
                    guard case .linkAttached(let link, nil) = event, case .running(let process) = machine.state,
                        case .announcing = process.connection
                    else { return directives }
                    return directives + [.link(.welcome(link))]
                }
            }
        case .tellsAFailedStartAtOnce:
            {
                { machine, event, now in
                    let directives = machine.handle(event, now: now)
                    guard case .startRefused(let error) = event else { return directives }
                    return directives + [.process(.startFailed(.thrown(error)))]
                }
            }
        case .tellsAStopOnce:
            {
                { machine, event, now in
                    let directives = machine.handle(event, now: now)
                    guard case .linkAttached = event else { return directives }
                    return directives.filter { if case .link(.tellStop) = $0 { false } else { true } }
                }
            }
        case .killsWhenALinkIsLost:
            {
                { machine, event, now in
                    let isCurrent = if case .linkLost(let link) = event { machine.link == link } else { false }
                    let directives = machine.handle(event, now: now)
                    return isCurrent ? directives + machine.handle(.discarded, now: now) : directives
                }
            }
        case .blamesTheWorkerForItsOwnDelay: { Self.blaming() }
        case .blamesABusyExecutor: Self.changing { if case .process(.noteExecutor(true)) = $0 { [$0, .process(.kill)] } else { [$0] } }
        case .probesOnce: { Self.probingOnce() }
        case .blamesTheStartForItsOwnDelay:
            {
                { machine, event, now in
                    if case .timePassed = event, case .running(let process) = machine.state, case .starting(let starting) = process.life,
                        now > starting.deadline + machine.limits.heartbeat, machine.isAlive
                    {
                        return machine.handle(.discarded, now: now)
                    }
                    return machine.handle(event, now: now)
                }
            }
        case .overlooksAnEarlyExit:
            {
                { machine, event, now in
                    if case .exited = event, case .running(let process) = machine.state, case .announcing = process.connection { return [] }
                    return machine.handle(event, now: now)
                }
            }
        case .grantsNoTermination: Self.changing { if case .process(.terminate) = $0 { [$0, .process(.kill)] } else { [$0] } }
        case .overlooksTheMemoryLimit: Self.overlooking { if case .memoryMeasured(let bytes) = $0 { bytes > 4_000 } else { false } }
        case .closesThePoolAfterAWait, .forgetsADeadSpare, .leavesALateSpare: nil
        }
    }

    private var pool: (() -> PoolSubject.Mutation)? {
        switch self {
        case .closesThePoolAfterAWait:
            {
                var requests: [SparePoolMachine.SpareID: Duration] = [:]
                var isClosed = false
                return { machine, event, now in
                    if case .turnCame(let id) = event, let request = requests[id], now > request { isClosed = true }
                    if isClosed, event != .closeRequested { return [] }
                    isClosed = false
                    let directives = machine.handle(event, now: now)
                    for case .takeTurn(let id) in directives { requests[id] = now }
                    return directives
                }
            }
        case .forgetsADeadSpare:
            {
                { machine, event, now in
                    if case .ended(let id) = event, machine.idle.contains(id) { _ = machine.handle(.taken(id), now: now) }
                    return machine.handle(event, now: now)
                }
            }
        case .leavesALateSpare:
            {
                { machine, event, now in
                    let directives = machine.handle(event, now: now)
                    guard case .launched = event else { return directives }
                    return directives.filter { if case .discard = $0 { false } else { true } }
                }
            }
        case .overtakesAStopDuringAStart, .recyclesWithoutDraining, .recyclesWhilePaused, .ignoresARefusedTicket,
            .believesTheTicketNotTheExit, .losesAWake, .welcomesTooEarly, .tellsAFailedStartAtOnce, .tellsAStopOnce, .killsWhenALinkIsLost,
            .blamesTheWorkerForItsOwnDelay, .overlooksAnEarlyExit, .grantsNoTermination, .blamesABusyExecutor, .probesOnce,
            .blamesTheStartForItsOwnDelay, .overlooksTheMemoryLimit:
            nil
        }
    }
}

/// The error of a planted fault.
struct PlantedError: Error {
    let message: String
}

extension PlantedFault {
    private static func changing(
        _ change: @escaping (WorkerMachine.Directive) -> [WorkerMachine.Directive]
    ) -> () -> WorkerSubject.Mutation {
        { { machine, event, now in machine.handle(event, now: now).flatMap(change) } }
    }

    private static func overlooking(_ isOverlooked: @escaping (WorkerMachine.Event) -> Bool) -> () -> WorkerSubject.Mutation {
        { { machine, event, now in isOverlooked(event) ? [] : machine.handle(event, now: now) } }
    }

    /// A start that is stopped has a second from then on, as one that has failed by itself.
    private static func overtaking() -> WorkerSubject.Mutation {
        var deadline: Duration?
        return { machine, event, now in
            if case .stopRequested = event, case .running(let process) = machine.state, case .starting = process.life, machine.link != nil {
                deadline = deadline ?? now + machine.limits.failedStart
            }
            if case .exited = event { deadline = nil }
            let directives = machine.handle(event, now: now)
            if directives.contains(where: { if case .process(.kill) = $0 { true } else { false } }) { deadline = nil }
            guard let due = deadline, now >= due else { return directives }
            deadline = nil
            return directives + [.process(.kill)]
        }
    }

    /// What the exit says isn't looked at if the ticket was refused before.
    private static func believingTheTicket() -> WorkerSubject.Mutation {
        var error: PlantedError?
        return { machine, event, now in
            if case .ticketRefused(let message) = event { error = PlantedError(message: message) }
            if case .exited = event, let error { _ = machine.handle(.startNotTold(error), now: now) }
            return machine.handle(event, now: now)
        }
    }

    private static func probingOnce() -> WorkerSubject.Mutation {
        var hasProbed = false
        return { machine, event, now in
            machine.handle(event, now: now).filter { directive in
                guard case .process(.probeExecutor) = directive else { return true }
                defer { hasProbed = true }
                return !hasProbed
            }
        }
    }

    /// The time since the last sign counts, whether the parent could have heard one or not.
    private static func blaming() -> WorkerSubject.Mutation {
        var lastSign: Duration?
        return { machine, event, now in
            var next = machine
            let directives = next.handle(event, now: now)
            switch event {
            case .ready where machine.lastSign == nil, .heard, .linkAttached: lastSign = now
            case .timePassed:
                let isKilled = directives.contains { if case .process(.kill) = $0 { true } else { false } }
                guard let lastSign, next.lastSign != nil, next.isAlive, !isKilled, now - lastSign >= machine.limits.heartbeatTimeout
                else { break }
                return machine.handle(.discarded, now: now)
            default: break
            }
            machine = next
            return directives
        }
    }
}
