import SimulationSupport
import Supervision
import WorkerLifecycle

/// A worker process in an exploration: answers of the kernel, of the processes above and of the worker, links that come and go, requests,
/// the time that is waited for, and a time that is long past it.
///
/// Two states are the same when the checker and the machine's own state differ at most by the present time.
package struct WorkerState: Explorable {
    /// The request with which an exploration begins.
    private enum Beginning: String {
        case life, restart, spare

        var event: WorkerMachine.Event {
            switch self {
            case .life: .startRequested(isRestart: false, timeout: .seconds(10))
            case .restart: .startRequested(isRestart: true, timeout: .seconds(10))
            case .spare: .spareRequested
            }
        }

        /// The events that follow if all goes well: the process is spawned, and known to the processes above.
        var usualEvents: [WorkerMachine.Event] { (self == .restart ? [.turnCame] : []) + [.spawned, .announced] }
    }

    /// An event, and when it comes.
    package struct Move: CustomStringConvertible {
        let event: WorkerMachine.Event
        /// The time since the event before.
        let delay: Duration

        package var description: String { delay == .zero ? "\(event)" : "\(event), after \(delay)" }
    }

    private struct Signature: Hashable {
        let checker: WorkerChecker
        let machine: Fingerprint
        let isTicketRefused: Bool
        let isStartTold: Bool
    }

    private var subject: WorkerSubject
    private var checker: WorkerChecker
    private var now = Duration.seconds(1_000)
    private var isTicketRefused = false
    private var isStartTold = false
    private static let mostLinks = 3

    /// Returns the explorations of a life, a restart and a spare, from their beginnings and from later moments.
    package static func all(mutation: (() -> WorkerSubject.Mutation)? = nil) -> [Exploration<WorkerState>] {
        func make(_ beginning: Beginning, isKnown: Bool = false, isReady: Bool = false, recycles: Bool = false) -> Exploration<WorkerState>
        {
            let description =
                "a \(beginning.rawValue)" + (isReady ? " that is ready" : isKnown ? " that is known above" : "")
                + (recycles ? ", recycled after two messages or five seconds" : "")
            var prelude: [WorkerMachine.Event] = [beginning.event]
            if isKnown { prelude += beginning.usualEvents }
            if isReady { prelude += [.linkAttached(0, refusal: nil), .ready] }
            return Exploration(
                description,
                from: WorkerState(limits(recycles: recycles), mutation?()),
                after: prelude.map { Move(event: $0, delay: .zero) }
            )
        }
        return [
            make(.life), make(.restart), make(.spare), make(.life, isKnown: true), make(.spare, isKnown: true),
            make(.life, isKnown: true, isReady: true), make(.life, isKnown: true, isReady: true, recycles: true),
        ]
    }

    private static func limits(recycles: Bool) -> WorkerMachine.Limits {
        var limits = WorkerMachine.Limits()
        limits.link = .seconds(4)
        limits.firstLink = .seconds(5)
        limits.heartbeat = .seconds(3)
        limits.heartbeatTimeout = .seconds(6)
        limits.departure = .seconds(4)
        if recycles {
            limits.restartsSilentExecutor = true
            limits.age = .seconds(5)
            limits.messages = 2
            limits.memory = 1_000
        }
        return limits
    }

    private init(_ limits: WorkerMachine.Limits, _ mutation: WorkerSubject.Mutation?) {
        subject = WorkerSubject(machine: WorkerMachine(limits: limits), mutation: mutation)
        checker = WorkerChecker(limits)
    }

    package var key: some Hashable {
        Signature(
            checker: checker.normalised(at: now),
            machine: Fingerprint(subject.machine, at: now),
            isTicketRefused: isTicketRefused,
            isStartTold: isStartTold
        )
    }

    package mutating func make(_ move: Move) throws(WorkerViolation) {
        now += move.delay
        if case .ticketRefused = move.event { isTicketRefused = true }
        let directives = subject.handle(move.event, now: now)
        for directive in directives {
            if case .link(.tellStart) = directive { isStartTold = true }
        }
        try checker.enter(move.event, directives, now: now)
    }

    package var moves: [Move] {
        var moves = events.map { Move(event: $0, delay: .zero) }
        if let wake = checker.wake {
            moves.append(Move(event: .timePassed, delay: max(wake - now, .zero)))
            moves.append(Move(event: .timePassed, delay: max(wake - now, .zero) + .seconds(5)))
        }
        return moves
    }

    private var events: [WorkerMachine.Event] {
        let stops: [WorkerMachine.Event] = [
            .stopRequested(.brutalKill), .stopRequested(.timeout(.seconds(3))), .stopRequested(.infinity),
        ]
        switch checker.phase {
        case .idle: return stops + [.discarded]
        case .waitingForTurn: return [.turnCame, .stopRequested(.infinity), .discarded] + newLink
        case .spawning:
            let adoption: [WorkerMachine.Event] = checker.isSpare ? [] : [.adopted]
            return [.spawned, .spawnFailed(Fault(text: "x")), .stopRequested(.infinity), .discarded] + adoption + start + newLink
        case .announcing: return stops + [.announced, .announcementFailed(Fault(text: "x"))] + start + newLink + processEvents
        case .known: return stops + start + newLink + processEvents + workerEvents
        case .exited: return [.cleanedUp, .announced, .stopRequested(.brutalKill)] + start + newLink
        case .over: return start + newLink
        }
    }

    private var start: [WorkerMachine.Event] {
        checker.start == .none ? [.startRequested(isRestart: true, timeout: .seconds(10))] : []
    }

    private var newLink: [WorkerMachine.Event] {
        guard checker.links.count < Self.mostLinks else { return [] }
        let link = UInt64(checker.links.count)
        return [.linkAttached(link, refusal: nil), .linkAttached(link, refusal: "x")]
    }

    private var processEvents: [WorkerMachine.Event] {
        var events: [WorkerMachine.Event] = [.exited(.exited(code: 78))]
        if !isTicketRefused, !checker.hasBeenWelcomed { events.append(.ticketRefused("x")) }
        if checker.isSpare { events.append(.discarded) }
        events += checker.links.keys.sorted().filter { checker.links[$0] != .over }.map { .linkLost($0) }
        return events
    }

    private var workerEvents: [WorkerMachine.Event] {
        var events: [WorkerMachine.Event] = [.pauseChanged(!checker.isPaused)]
        guard checker.hasBeenWelcomed, !checker.links.isEmpty else { return events }
        events += checker.links.keys.sorted().map { .exitAnnounced(.normal, $0) }
        guard isStartTold else { return events }
        events.append(.ready)
        if checker.life == nil { events += [.startRefused(Fault(text: "x")), .startNotTold(Fault(text: "x"))] }
        if checker.life != nil {
            events += [.heard, .messageSent, .executorAnswered]
            if checker.limits.memory != nil { events.append(.memoryMeasured(bytes: 2_000)) }
        }
        return events
    }
}
