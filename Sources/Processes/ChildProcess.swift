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
