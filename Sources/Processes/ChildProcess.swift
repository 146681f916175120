import ConcurrencySupport
import Glibc

/// A process that this one has started.
///
/// It is reaped by the process thread whether or not anybody holds this handle or waits; dropping the handle does not end the process.
public final class ChildProcess: Sendable {
    enum Life {
        /// Its pidfd is open, and its number can't be used again. Can transition to: ended.
        case running(descriptor: Int32)
        /// It was reaped. Can transition to: itself, when its group has become empty.
        case ended(ExitStatus, Group)
    }

    /// What is left of the process group of a child that was reaped.
    enum Group {
        /// Nothing, or nothing but what was killed.
        case gone
        /// Some members are; they are reached through the pidfd, which stays open for it.
        case left(descriptor: Int32)
        /// Something with the number of the group is there, and this kernel can't say if it is the group.
        case uncertain
    }

    struct State {
        var life: Life
        var killsGroupAtExit: Bool
        var observers: [@Sendable (ExitStatus) -> Void] = []
    }

    /// What reaping brought.
    enum Ending {
        case stillRunning
        case failed(errno: Int32)
        case ended(ExitStatus, observers: [@Sendable (ExitStatus) -> Void], groupWasKilled: Bool)
    }

    /// Which process it is.
    ///
    /// Its number is also that of its session and its process group.
    public let identity: ProcessIdentity
    /// The name under which the process thread knows it.
    let token: UInt64
    let thread: ProcessThread
    let systemCalls: SystemCalls
    // Signals are sent under the lock: only there is it certain that the descriptor is open, and the number still ours.
    let state: Lock<State>

    init(identity: ProcessIdentity, descriptor: Int32, token: UInt64, killsGroupAtExit: Bool, thread: ProcessThread) {
        self.identity = identity
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

    /// How it ended; nil while it runs.
    public var exitStatus: ExitStatus? {
        guard case .ended(let status, _) = state.withLock({ $0.life }) else { return nil }
        return status
    }

    /// Waits until the process has ended; any number of tasks may.
    ///
    /// Cancellation does not end the waiting: only the exit does.
    public func waitForExit() async -> ExitStatus {
        await withCheckedContinuation { continuation in
            onExit { continuation.resume(returning: $0) }
        }
    }

    /// Has a function called exactly once when the process has ended: on the process thread, where it must return at once, or, when the
    /// process has ended already, here and now.
    public func onExit(_ body: @escaping @Sendable (ExitStatus) -> Void) {
        let status = state.withLock { state -> ExitStatus? in
            guard case .ended(let status, _) = state.life else {
                state.observers.append(body)
                return nil
            }
            return status
        }
        if let status { body(status) }
    }

    /// Closes the pipes of `.captured` output after delivering what is in them, even if a grandchild still holds them: that one gets
    /// SIGPIPE when it writes on.
    ///
    /// Without this call they stay open until the last holder has closed them.
    public func endCapture() {
        // A thread that has ended has closed them.
        try? thread.post(.endCapture(child: token))
    }
}
