import CProcess
import ConcurrencySupport
import Glibc

/// A process that this one has started, or adopted.
///
/// The process thread reaps the process whether or not there is a reference to this handle or a waiting task; releasing the handle doesn't
/// end the process. The exit status of an adopted process is known since Linux 6.15, once its parent has reaped it; before that the kernel
/// tells it to the parent alone, and it's ``ExitStatus/unknown``.
public final class ChildProcess: Sendable {
    enum Life {
        /// The pidfd is open, and the process number can't be used again. Can transition to: ended.
        case running(descriptor: Int32)
        /// The process was reaped. Can transition to: itself, when its group has become empty.
        case ended(ExitStatus, Group)
    }

    /// The remainder of the process group of a child that was reaped.
    enum Group {
        /// The group has no member, or only members that were killed.
        case gone
        /// Some members are left; they are reached through the pidfd, which stays open for this.
        case left(descriptor: Int32)
        /// A group with this number exists, and this kernel can't tell whether it is the child's.
        case uncertain
    }

    struct State {
        var life: Life
        var killsGroupAtExit: Bool
        /// The functions to call with the exit status; nil since they were called, which is after the last output was delivered.
        var observers: [@Sendable (ExitStatus) -> Void]? = []
    }

    /// The result of reaping.
    enum Ending {
        case stillRunning
        case failed(errno: Int32)
        case ended(ExitStatus, groupWasKilled: Bool)
    }

    /// The number and the start time of the process.
    ///
    /// The number is also that of the process's session and process group.
    public let identity: ProcessIdentity
    /// The user as whom the process was started; of an adopted one, the one that the adopter has named.
    package let userID: UInt32
    /// Whether another process has started this one, and so is told its exit status.
    package let isAdopted: Bool
    /// Whether it's worth a wait to learn the status of an adopted process.
    let isStatusWanted: Bool
    /// The token under which the process thread knows this child.
    let token: UInt64
    let thread: ProcessThread
    let systemCalls: SystemCalls
    // Signals are sent under the lock: only there is it certain that the descriptor is open, and that the number is still the child's.
    let state: Lock<State>

    init(
        identity: ProcessIdentity,
        descriptor: Int32,
        token: UInt64,
        userID: UInt32,
        killsGroupAtExit: Bool,
        isAdopted: Bool = false,
        isStatusWanted: Bool = true,
        thread: ProcessThread
    ) {
        (self.identity, self.userID) = (identity, userID)
        (self.isAdopted, self.isStatusWanted) = (isAdopted, isStatusWanted)
        self.token = token
        self.thread = thread
        self.systemCalls = thread.systemCalls
        state = Lock(State(life: .running(descriptor: descriptor), killsGroupAtExit: killsGroupAtExit))
    }

    deinit {
        // While it runs, the process thread holds this object.
        guard case .ended(_, .left(let descriptor)) = state.withLock({ $0.life }) else { return }
        systemCalls.close(descriptor)
    }

    /// The exit status; nil while the process runs.
    public var exitStatus: ExitStatus? {
        guard case .ended(let status, _) = state.withLock({ $0.life }) else { return nil }
        return status
    }

    /// Waits until the process has ended, and what it has written was delivered.
    ///
    /// Any number of tasks may wait.
    ///
    /// Cancellation has no effect: only the exit ends the wait.
    public func waitForExit() async -> ExitStatus {
        await withCheckedContinuation { continuation in
            onExit { continuation.resume(returning: $0) }
        }
    }

    /// Calls a function exactly once when the process has ended and what it has written was delivered: on the process thread, where it must
    /// return at once, or, when that is the past already, on the calling thread before this returns.
    public func onExit(_ body: @escaping @Sendable (ExitStatus) -> Void) {
        let status = state.withLock { state -> ExitStatus? in
            guard case .ended(let status, _) = state.life, state.observers == nil else {
                state.observers?.append(body)
                return nil
            }
            return status
        }
        if let status { body(status) }
    }

    /// Closes the pipes of `.captured` output after delivering their content, even if a grandchild still holds them, which then gets
    /// SIGPIPE when it writes.
    ///
    /// Without this call the pipes stay open until the last holder has closed them.
    public func endCapture() {
        // A thread that has ended has closed them.
        try? thread.post(.endCapture(child: token))
    }
}

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

extension ChildProcess {
    /// Limits the data that the process may have (`RLIMIT_DATA`, in bytes), which are also what it has only reserved; the kernel refuses it more.
    ///
    /// This has no effect on a process that has ended. Follows https://man7.org/linux/man-pages/man2/prlimit.2.html.
    public func limitData(to bytes: Int) {
        guard exitStatus == nil else { return }
        _ = coordinator_process_limit_data(identity.processID, UInt64(max(bytes, 0)))
    }
}

extension ChildProcess {
    /// Changes the niceness and the limits of the process, which goes on, where two specifications differ; what isn't given any more becomes
    /// this process's.
    ///
    /// The niceness is that of all processes of its group; a limit is that of the process and of what it starts from now on. Follows
    /// https://man7.org/linux/man-pages/man2/prlimit.2.html and https://man7.org/linux/man-pages/man2/setpriority.2.html. This has no effect on
    /// a process that has ended.
    ///
    /// - Throws: The kernel's refusal, such as that of a higher limit or priority for a process that isn't root's; the rest is changed.
    package func change(from former: ProcessAttributes, to next: ProcessAttributes) throws(ProcessError) {
        guard exitStatus == nil else { return }
        var failure: ProcessError?
        if former.nice != next.nice {
            let error = coordinator_process_change_nice(identity.processID, next.nice == nil ? 1 : 0, Int32(clamping: next.nice ?? 0))
            if error != 0 { failure = ProcessError(error, action: "change the niceness of process \(identity.processID)") }
        }
        for resource in ProcessAttributes.Resource.allCases where former.limits[resource] != next.limits[resource] {
            let limit = next.limits[resource]
            let (soft, hard) = (limit?.soft ?? .max, limit?.hard ?? .max)
            let error = coordinator_process_change_limit(identity.processID, resource.number, limit == nil ? 1 : 0, soft, hard)
            if error != 0 {
                failure = ProcessError(error, action: "change the limit \(resource.rawValue) of process \(identity.processID)")
            }
        }
        if let failure, exitStatus == nil { throw failure }
    }
}

extension ProcessIdentity {
    /// The bytes of memory that the process occupies (the second field of `/proc/PID/statm`); `nil` when the process is gone.
    public var residentBytes: Int? {
        guard let file = fopen("/proc/\(processID)/statm", "re") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return nil }
        let fields = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}

/// The end of a process as the kernel reports it; see waitid(2).
public enum ExitStatus: Sendable, Hashable {
    /// The process called `exit`, or returned from `main`: 0 to 255, and 0 is success.
    case exited(code: Int32)
    /// A signal ended the process.
    case signaled(Signal, coreDumped: Bool)

    /// An unknown end: the process is gone, but other code in this program took its exit status.
    ///
    /// That happens when a program ignores SIGCHLD, or calls `wait` for any child; and to an adopted process, which has another parent, before
    /// Linux 6.15. No real exit has the code -1.
    public static let unknown = ExitStatus.exited(code: -1)

    /// Whether the process exited by itself with code 0.
    public var isSuccess: Bool { self == .exited(code: 0) }
}

extension ExitStatus: CustomStringConvertible {
    /// The end in words, such as "exited with code 1" or "ended by SIGKILL".
    public var description: String {
        switch self {
        case .unknown: "ended in an unknown way"
        case .exited(let code): "exited with code \(code)"
        case .signaled(let signal, coreDumped: false): "ended by \(signal)"
        case .signaled(let signal, coreDumped: true): "ended by \(signal), core dumped"
        }
    }
}
