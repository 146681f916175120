import ConcurrencySupport
import Glibc

/// The inbox of the one thread that spawns, waits for exits and drains output; `ProcessLoop` is its body.
///
/// Nothing that a file system can delay runs on it: see ``BlockingCalls``, and `coordinator_process_spawn`.
///
/// Linux sends the parent-death signal when the *thread* that spawned ends, and threads of pools come and go: hence one thread that stays.
package final class ProcessThread: Sendable {
    /// A command to the thread.
    enum Command: Sendable {
        case spawn(ProcessSpecification, CheckedContinuation<Result<ChildProcess, ProcessError>, Never>)
        case adopt(Adoption, CheckedContinuation<Result<ChildProcess, ProcessError>, Never>)
        case survey(CheckedContinuation<[KeptProcess], Never>)
        case hold(CheckedContinuation<[KeptProcess], Never>)
        case release
        case replace(ProcessReplacement, CheckedContinuation<ProcessError, Never>)
        case watch(ProcessWatch, CheckedContinuation<ProcessWatch.Outcome, Never>)
        case cancelWatch(ProcessWatch)
        case killGroup(child: UInt64, by: PatientDeadline)
        case endCapture(child: UInt64)
        case readPending(CheckedContinuation<Void, Never>)
        /// The spawner is gone: end when the last child, capture and watch has ended.
        case end
    }

    private enum Life {
        /// The thread hasn't been needed yet. Can transition to: running.
        case unstarted
        /// The thread runs. Can transition to: ended.
        case running(poll: Int32, wake: Int32)
        /// The thread has ended: nothing was left to do, and the spawner is gone. Can transition to: nothing.
        case ended
    }

    private struct State {
        var life = Life.unstarted
        var commands: [Command] = []
    }

    let systemCalls: SystemCalls
    private let state = Lock(State())
    /// The children that were spawned and not reaped yet; locked from before a spawn until the child's number is in it.
    let spawned = Lock(Set<Int32>())
    /// The starts that hang, by their subjects.
    let hangingStarts = Lock<[String: HangingStart]>([:])

    /// The token under which the loop knows the wake-up descriptor.
    static let wakeToken: UInt64 = 0

    init(systemCalls: SystemCalls) {
        self.systemCalls = systemCalls
    }

    /// Hands a command to the thread, which is made when there is none yet.
    ///
    /// Commands run in the order in which they came.
    func post(_ command: Command) throws(ProcessError) {
        try state.withLock { state throws(ProcessError) in
            if case .unstarted = state.life {
                if case .end = command { return }
                state.life = try start()
            }
            guard case .running(_, let wake) = state.life else {
                throw ProcessError(code: .systemCallFailed, errno: EPIPE, message: "The thread that serves processes has ended.")
            }
            // Under the lock, because the descriptor is open as long as this state lasts; and only the first command has to wake.
            if state.commands.isEmpty { systemCalls.wake(wake) }
            state.commands.append(command)
        }
    }

    /// Makes the thread, unless there is one or it has ended.
    func prepare() throws(ProcessError) {
        try state.withLock { state throws(ProcessError) in
            if case .unstarted = state.life { state.life = try start() }
        }
    }

    /// Removes and returns the commands that have come since the last call.
    func takeCommands() -> [Command] {
        state.withLock { state in
            defer { state.commands.removeAll() }
            return state.commands
        }
    }

    /// Closes the inbox for good, unless there are commands in it.
    func endIfEmpty() -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty, case .running(let poll, let wake) = state.life else { return false }
            systemCalls.close(wake)
            systemCalls.close(poll)
            state.life = .ended
            return true
        }
    }

    /// The body of the thread.
    func run() {
        guard case .running(let poll, let wake) = state.withLock({ $0.life }) else { return }
        ProcessLoop(thread: self, poll: poll, wake: wake).run()
    }

    private func start() throws(ProcessError) -> Life {
        let poll = systemCalls.pollDescriptor()
        guard poll >= 0 else { throw ProcessError(-poll, action: "make an epoll descriptor for child processes") }
        let wake = systemCalls.eventDescriptor()
        guard wake >= 0 else {
            systemCalls.close(poll)
            throw ProcessError(-wake, action: "make an eventfd for child processes")
        }
        var result = systemCalls.pollAdd(poll, wake, Self.wakeToken)
        // The new thread waits for the lock that is held here, and then finds the state that is returned.
        if result >= 0, !MainThread.takes(self) { result = systemCalls.startThread(self) }
        guard result >= 0 else {
            systemCalls.close(wake)
            systemCalls.close(poll)
            throw ProcessError(-result, action: "start the thread that serves child processes")
        }
        return .running(poll: poll, wake: wake)
    }
}
