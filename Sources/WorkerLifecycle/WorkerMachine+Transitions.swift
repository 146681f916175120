import Supervision

extension WorkerMachine {
    /// Decides about every pair of a state and an event.
    mutating func transition(_ event: Event) {
        switch state {
        case .idle: hearIdle(event)
        case .waitingForTurn(let timeout): hearWaiting(event, timeout)
        case .spawning(let spawning): hearSpawning(event, spawning)
        case .running(var process):
            hearRunning(event, &process)
            // An exit has changed the state itself.
            if case .running = state { state = .running(process) }
        case .cleaning(let outcome, let isExplained): hearCleaning(event, outcome, isExplained)
        case .ended(let failure): hearEnded(event, failure)
        }
    }

    private mutating func hearIdle(_ event: Event) {
        switch event {
        case .spareRequested:
            spawn(Spawning())
        case .startRequested(let isRestart, let timeout):
            if isRestart {
                state = .waitingForTurn(timeout: timeout)
                give(.takeTurn)
            } else {
                spawn(Spawning(starting: Starting(deadline: now + timeout)))
            }
        case .stopRequested, .discarded:
            end(.stopped)
        case .linkAttached(let link, _):
            say(.close(link))
        case .turnCame, .spawned, .adopted, .spawnFailed, .ticketRefused, .announced, .announcementFailed, .linkLost, .ready, .startRefused,
            .startNotTold,
            .heard, .exitAnnounced, .messageSent, .memoryMeasured, .pauseChanged, .exited, .cleanedUp, .timePassed,
            .executorAnswered:
            break  // There is no process that could have given the sign.
        }
    }

    private mutating func hearWaiting(_ event: Event, _ timeout: Duration) {
        switch event {
        case .turnCame:
            spawn(Spawning(starting: Starting(deadline: now + timeout)))
        case .stopRequested, .discarded:
            failStart(.stopped)
        case .linkAttached(let link, _):
            say(.close(link))
        case .spareRequested, .startRequested:
            break  // A start has been requested.
        case .spawned, .adopted, .spawnFailed, .ticketRefused, .announced, .announcementFailed, .linkLost, .ready, .startRefused,
            .startNotTold,
            .heard,
            .exitAnnounced, .messageSent, .memoryMeasured, .pauseChanged, .exited, .cleanedUp, .timePassed,
            .executorAnswered:
            break  // There is no process that could have given the sign.
        }
    }

    private mutating func hearSpawning(_ event: Event, _ spawning: Spawning) {
        var spawning = spawning
        switch event {
        case .spawned:
            return startSpawn(spawning)
        case .adopted:
            return adopt(spawning)
        case .spawnFailed(let error):
            guard spawning.starting != nil else { return end(.thrown(error)) }
            return failStart(spawning.condemnation ?? .thrown(error))
        case .startRequested(_, let timeout):
            if spawning.starting == nil { spawning.starting = Starting(deadline: now + timeout) }
        case .stopRequested:
            spawning.condemnation = spawning.condemnation ?? .stopped
        case .discarded:
            spawning.condemnation = spawning.condemnation ?? .condemned(.shutdown, .discarded)
        case .timePassed:
            guard let starting = spawning.starting, now >= starting.deadline else { break }
            spawning.condemnation = spawning.condemnation ?? .condemned(.startTimedOut, .startTimedOut)
        case .linkAttached(let link, _):
            say(.close(link))
        case .spareRequested, .turnCame, .ticketRefused, .announced, .announcementFailed, .linkLost, .ready, .startRefused, .startNotTold,
            .heard, .exitAnnounced, .messageSent, .memoryMeasured, .pauseChanged, .exited, .cleanedUp,
            .executorAnswered:
            break  // The kernel has told of no process yet.
        }
        state = .spawning(spawning)
    }

    private mutating func hearRunning(_ event: Event, _ process: inout Process) {
        switch event {
        case .startRequested(_, let timeout): assign(&process, timeout)
        case .ticketRefused(let message):
            // Why a process that has exited can't take it, its exit says.
            process.expectExit(
                Departure(deadline: now + limits.ticketRefusal, failure: (.startFailed(message), .ticketRefused(message)))
            )
        case .announced: announced(&process)
        case .announcementFailed(let error):
            process.verdict = process.verdict ?? .startFailed("\(error)")
            fail(&process, .thrown(error))
            kill(&process)
        case .linkAttached(let link, let refusal): attach(&process, link, refusal)
        case .linkLost(let link): lose(&process, link)
        case .ready: becomeReady(&process)
        case .startRefused(let error):
            guard case .starting = process.life else { break }
            fail(&process, .thrown(error))
            process.expectExit(Departure(deadline: now + limits.failedStart))
        case .startNotTold(let error):
            process.verdict = process.verdict ?? .startFailed("\(error)")
            fail(&process, .thrown(error))
            kill(&process)
        case .heard: process.hear(now)
        case .executorAnswered: hearExecutor(&process)
        case .exitAnnounced(let reason, let link): takeLeave(&process, reason, link)
        case .messageSent: countMessage(&process)
        case .memoryMeasured(let bytes): noteMemory(&process, bytes)
        case .pauseChanged(let isPaused):
            guard !isPaused, case .ready(let ready) = process.life, case .due(let cause) = ready.recycling else { break }
            recycle(&process, cause)
        case .stopRequested(let shutdown): stop(&process, shutdown)
        case .discarded: condemn(&process, .shutdown, .discarded)
        case .exited(let reason): exit(process, reason)
        case .timePassed: meetDeadlines(&process)
        case .spareRequested, .turnCame, .spawned, .adopted, .spawnFailed, .cleanedUp:
            break  // It has been spawned, once.
        }
    }

    private mutating func hearCleaning(_ event: Event, _ outcome: Outcome, _ isExplained: Bool) {
        switch event {
        case .startRequested:
            if case .unused(let reason) = outcome { state = .cleaning(.startFailed(.unused(reason)), isExplained: isExplained) }
        case .exitAnnounced(let reason, _):
            // What the process had sent is read after its exit.
            if !isExplained { state = .cleaning(outcome.explained(by: reason), isExplained: true) }
        case .startRefused(let error):
            if case .startFailed(.exited) = outcome { state = .cleaning(.startFailed(.thrown(error)), isExplained: isExplained) }
        case .ready:
            guard case .startFailed(.exited(let reason)) = outcome else { break }
            give(.startSucceeded)
            state = .cleaning(.lifeEnded(reason), isExplained: isExplained)
        case .cleanedUp:
            conclude(outcome)
        case .linkAttached(let link, _):
            say(.close(link))
        case .spareRequested, .turnCame, .spawned, .adopted, .spawnFailed, .ticketRefused, .announced, .announcementFailed, .linkLost,
            .startNotTold,
            .heard, .messageSent, .memoryMeasured, .pauseChanged, .stopRequested, .discarded, .exited, .timePassed,
            .executorAnswered:
            break  // The end is under way: there is nothing to be changed.
        }
    }

    private mutating func hearEnded(_ event: Event, _ failure: Failure) {
        switch event {
        case .startRequested:
            give(.startFailed(failure))
        case .linkAttached(let link, _):
            say(.close(link))
        case .spareRequested, .turnCame, .spawned, .adopted, .spawnFailed, .ticketRefused, .announced, .announcementFailed, .linkLost,
            .ready,
            .startRefused, .startNotTold, .heard, .exitAnnounced, .messageSent, .memoryMeasured, .pauseChanged, .stopRequested, .discarded,
            .exited, .cleanedUp, .timePassed, .executorAnswered:
            break  // Nothing is left.
        }
    }
}
