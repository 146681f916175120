import ConcurrencySupport
import Glibc

extension ProcessLoop {
    /// The number of times that the kernel may fail to report an exit status before the child is given up as `ExitStatus.unknown`.
    private static let reapAttempts = 8

    /// The time that the parent of an adopted process is given to reap it, where somebody wants the status, and otherwise: one that never does,
    /// such as the first process of some containers, leaves the status unknown.
    private static let foreignReapLimits = (wanted: Duration.seconds(3), otherwise: Duration.milliseconds(50))
    /// The milliseconds between two looks whether it has.
    static let foreignReapInterval: Int32 = 5

    /// Handles the end of a child, which its pidfd has reported: delivers its last output, then its status, then informs its observers.
    func childEnded(_ token: UInt64) {
        guard let child = children[token] else { return }
        drainCaptures(of: token)
        var ending = child.reap(removingFrom: poll)
        if case .stillRunning = ending {
            // A debugger may hold the exit status for any time, and the event comes again at once: the pause keeps this from being a busy
            // loop.
            if !child.isAdopted { usleep(1_000) } else if mustGiveUp(child) { ending = child.giveUp(removingFrom: poll) }
        }
        if case .failed(let errno) = ending {
            // ECHILD: other code has reaped it. Any other error may pass; the event comes again as long as the descriptor is open.
            let attempts = failedReaps[token, default: 0] + 1
            failedReaps[token] = attempts
            if errno == ECHILD || attempts >= Self.reapAttempts {
                ending = child.giveUp(removingFrom: poll)
                if errno != ECHILD { abandoned.append(child.identity.processID) }
            }
        }
        guard case .ended(let status, let groupWasKilled) = ending else { return }
        // An adopted process was never in the list, and its number may be that of a child by now.
        if !child.isAdopted, !abandoned.contains(child.identity.processID) { forget(child.identity.processID) }
        children[token] = nil
        deadlines[token] = nil
        beingStopped.remove(token)
        failedReaps[token] = nil
        unreaped[token] = nil
        // A process that still holds the pipes has left the group on purpose; its output is not waited for.
        if groupWasKilled { endCaptures(of: token) }
        child.announceExit(status)
    }

    /// Looks again at the adopted processes that have ended and weren't reaped.
    func lookAtUnreaped() {
        for token in unreaped.keys { childEnded(token) }
    }

    /// Whether the parent of an adopted process that has ended has had the time to reap it; its pidfd isn't watched meanwhile.
    private func mustGiveUp(_ child: ChildProcess) -> Bool {
        let now = SuspendingClock.now
        // The status of one that is being stopped matters little.
        let limits = Self.foreignReapLimits
        let limit = child.isStatusWanted && !beingStopped.contains(child.token) ? limits.wanted : limits.otherwise
        guard let since = unreaped[child.token] else {
            unreaped[child.token] = now
            child.stopWatching(in: poll)
            return false
        }
        return now - since >= limit
    }

    /// Ends a child that was started but can't be kept, because a later step failed.
    func abandon(_ processID: Int32) {
        // Not reaped yet, so the number is still its own.
        let killed = systemCalls.signalGroup(processID, SIGKILL)
        // A blocking wait is short after SIGKILL, and would be endless without.
        if killed < 0 || systemCalls.reapNumber(processID, true) == 0 { abandoned.append(processID) } else { forget(processID) }
    }

    /// Reaps the abandoned children that have ended since.
    func reapAbandoned() {
        abandoned.removeAll { processID in
            guard systemCalls.reapNumber(processID, false) != 0 else { return false }
            forget(processID)
            return true
        }
    }

    /// Forgets a child that was reaped, whose number may be reused now.
    func forget(_ processID: Int32) {
        thread.spawned.withLock { _ = $0.remove(processID) }
    }
}
