import ConcurrencySupport
import Glibc

extension ChildProcess {
    /// Sends a signal to this process, through its pidfd, which never names another one.
    ///
    /// This does nothing after the end of the process.
    ///
    /// - Throws: `.permissionDenied` when the process has become another user's.
    public func send(_ signal: Signal) throws(ProcessError) {
        let result = state.withLock { state -> Int32 in
            guard case .running(let descriptor) = state.life else { return 0 }
            return systemCalls.signalProcess(descriptor, signal.rawValue)
        }
        try check(result, "send \(signal) to process \(identity.processID)")
    }

    /// Sends a signal to all members of the child's process group: the child and those of its descendants that haven't left the group.
    ///
    /// The signal can't reach an unrelated process. Since Linux 6.9 the group is addressed through the child's pidfd, which names this
    /// group and no later one of the same number, also after the child's end. Before 6.9 the group is addressed by number while the child
    /// is not reaped, since an unreaped process keeps its number; after that the number may belong to another group, and this throws
    /// `.unsupported` if there is a group with it. Members that are left at the child's end cost one descriptor until they are gone or this
    /// handle is. An empty group is no error.
    public func sendToGroup(_ signal: Signal) throws(ProcessError) {
        let action = "send \(signal) to the process group \(identity.processID)"
        let result = try state.withLock { state throws(ProcessError) -> Int32 in
            switch state.life {
            case .running(let descriptor): return signalGroup(descriptor, signal)
            case .ended(_, .gone): return 0
            case .ended(let status, .left(let descriptor)):
                let result = systemCalls.signalGroupOfProcess(descriptor, signal.rawValue)
                if result == -ESRCH {
                    systemCalls.close(descriptor)
                    state.life = .ended(status, .gone)
                }
                return result
            case .ended(_, .uncertain):
                throw ProcessError(
                    code: .unsupported,
                    errno: EINVAL,
                    message: "Could not \(action): its first process has ended, and Linux before 6.9 can't tell the group from a later one "
                        + "of the same number. Start it with killsGroupAtExit, or end it with terminate(grace:)."
                )
            }
        }
        try check(result, action)
    }

    /// Ends the process in steps: the signal (SIGTERM) and SIGCONT to the process, `grace`, SIGKILL to its group, the confirmed exit.
    ///
    /// When the process ends within the grace, the rest of its group gets SIGKILL at that moment; output that a killed group had not
    /// written yet may be lost. Descendants that made groups of their own are not reached. A second call can shorten the grace, not
    /// lengthen it. Cancellation has no effect: the process is going to end. The process thread measures the grace, on the clock that
    /// stands still while the machine sleeps, and doesn't count the time in which this process itself stands still. A process that the kernel can't end (one that waits for a broken disk, or another user's)
    /// keeps the caller waiting.
    public func terminate(by signal: Signal = .terminate, grace: Duration) async -> ExitStatus {
        let isRunning = state.withLock { state in
            guard case .running = state.life else { return false }
            state.killsGroupAtExit = true
            return true
        }
        if isRunning {
            // If these are refused, the last step remains. SIGCONT, because a stopped process can't act on SIGTERM.
            try? send(signal)
            try? sendToGroup(.continue)
            // The thread can't have ended: it serves this child.
            try? thread.post(.killGroup(child: token, by: PatientDeadline(max(grace, .zero))))
        }
        return await waitForExit()
    }

    /// Signals the group by pidfd where the kernel can (Linux 6.9), else by number, which the process keeps because it is not reaped.
    private func signalGroup(_ descriptor: Int32, _ signal: Signal) -> Int32 {
        let result = systemCalls.signalGroupOfProcess(descriptor, signal.rawValue)
        guard result == -EINVAL else { return result }
        // Another process reaps an adopted one, whose number may then be a stranger's: what is left of its group, its family's end finds.
        if isAdopted, (try? identity.statistics(systemCalls)) == nil { return -ESRCH }
        return systemCalls.signalGroup(identity.processID, signal.rawValue)
    }

    private func check(_ result: Int32, _ action: String) throws(ProcessError) {
        guard result < 0, result != -ESRCH else { return }
        throw ProcessError(-result, action: action)
    }
}

extension ChildProcess {
    /// Takes the exit status from the kernel; on the process thread only.
    ///
    /// The group is killed before the reaping, while the number is certainly its own, and under the same lock as every other signal.
    func reap(removingFrom poll: Int32) -> Ending {
        state.withLock { state in
            guard case .running(let descriptor) = state.life else { return .stillRunning }
            if state.killsGroupAtExit { _ = signalGroup(descriptor, .kill) }
            var reaped = systemCalls.reap(descriptor)
            // Another process's child: that one reaps it, after which the kernel tells of the end.
            if isAdopted, case .failed(errno: ECHILD) = reaped {
                reaped = systemCalls.foreignExit(descriptor)
                switch reaped {
                // It is being reaped at this moment: its numbers are gone, and the look at its exit was before that.
                case .failed(errno: ESRCH): reaped = .stillRunning
                case .failed: reaped = .failed(errno: ECHILD)
                case .stillRunning, .ended: break
                }
            }
            switch reaped {
            case .stillRunning: return .stillRunning
            case .failed(let errno): return .failed(errno: errno)
            case .ended(let status): return end(&state, status, descriptor, poll)
            }
        }
    }

    /// Keeps the end, which is known, from waking the process thread again and again; on that thread only.
    func stopWatching(in poll: Int32) {
        state.withLock { state in
            if case .running(let descriptor) = state.life { systemCalls.pollRemove(poll, descriptor) }
        }
    }

    /// Ends the life of a child whose exit status can't be had; on the process thread only.
    func giveUp(removingFrom poll: Int32) -> Ending {
        state.withLock { state in
            guard case .running(let descriptor) = state.life else { return .stillRunning }
            return end(&state, .unknown, descriptor, poll)
        }
    }

    private func end(_ state: inout State, _ status: ExitStatus, _ descriptor: Int32, _ poll: Int32) -> Ending {
        systemCalls.pollRemove(poll, descriptor)
        let group = state.killsGroupAtExit ? .gone : groupAfterExit(descriptor)
        if case .left = group {} else { systemCalls.close(descriptor) }
        state.life = .ended(status, group)
        return .ended(status, groupWasKilled: state.killsGroupAtExit)
    }

    /// Informs the observers of the exit, after its last output was delivered; on the process thread only.
    func announceExit(_ status: ExitStatus) {
        let observers = state.withLock { state in
            defer { state.observers = nil }
            return state.observers ?? []
        }
        for observer in observers { observer(status) }
    }

    /// Returns the state of the group after the child's end.
    ///
    /// Signal 0 tests whether the group has members.
    private func groupAfterExit(_ descriptor: Int32) -> Group {
        let result = systemCalls.signalGroupOfProcess(descriptor, 0)
        guard result == -EINVAL else { return result == -ESRCH ? .gone : .left(descriptor: descriptor) }
        return systemCalls.signalGroup(identity.processID, 0) == -ESRCH ? .gone : .uncertain
    }
}
