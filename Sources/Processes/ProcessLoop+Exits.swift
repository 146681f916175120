import ConcurrencySupport
import Glibc

extension ProcessLoop {
    /// How often the kernel may fail to tell an exit status before the child is given up as `ExitStatus.unknown`.
    private static let reapAttempts = 8

    /// The pidfd says that a child has ended: its last output, then its status, then those who wait.
    func childEnded(_ token: UInt64) {
        guard let child = children[token] else { return }
        drainCaptures(of: token)
        var ending = child.reap(removingFrom: poll)
        if case .stillRunning = ending {
            // A debugger holds its exit status, for as long as it likes, and the event comes again at once: it must not become a busy loop.
            usleep(1_000)
        }
        if case .failed(let errno) = ending {
            // ECHILD: somebody else has reaped it. Anything else may pass; the event comes again as long as the descriptor is open.
            let attempts = failedReaps[token, default: 0] + 1
            failedReaps[token] = attempts
            if errno == ECHILD || attempts >= Self.reapAttempts {
                ending = child.giveUp(removingFrom: poll)
                if errno != ECHILD { abandoned.append(child.identity.processID) }
            }
        }
        guard case .ended(let status, let observers, let groupWasKilled) = ending else { return }
        if !abandoned.contains(child.identity.processID) { forget(child.identity.processID) }
        children[token] = nil
        deadlines[token] = nil
        failedReaps[token] = nil
        // Whoever still holds the pipes has left the group on purpose, and has outlived its purpose.
        if groupWasKilled { endCaptures(of: token) }
        for observer in observers { observer(status) }
    }

    /// Ends a child that was born but can't be kept, because a step after its birth failed.
    func abandon(_ processID: Int32) {
        // Not reaped yet, so the number is still its own.
        let killed = systemCalls.signalGroup(processID, SIGKILL)
        // A blocking wait is short after SIGKILL, and would be endless without.
        if killed < 0 || systemCalls.reapNumber(processID, true) == 0 { abandoned.append(processID) } else { forget(processID) }
    }

    /// Reaps those that were given up and have ended since.
    func reapAbandoned() {
        abandoned.removeAll { processID in
            guard systemCalls.reapNumber(processID, false) != 0 else { return false }
            forget(processID)
            return true
        }
    }

    /// The child was reaped: its number may be anybody's.
    func forget(_ processID: Int32) {
        thread.spawned.withLock { _ = $0.remove(processID) }
    }
}
