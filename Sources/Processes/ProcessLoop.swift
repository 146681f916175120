import ConcurrencySupport
import Glibc
import Synchronization

/// The loop of the process thread, which sleeps in epoll until a command, an exit or output comes.
///
/// There are no periodic wake-ups.
///
/// The loop isn't Sendable: everything in it belongs to that thread.
final class ProcessLoop {
    /// The reading end of a child's output.
    struct Capture {
        let end: ReadingEnd
        let child: UInt64
        var waiting = Waiting.no

        var descriptor: Int32 { end.descriptor }
    }

    /// A process that a task waits for.
    struct Watched {
        let watch: ProcessWatch
        let descriptor: Int32
        let continuation: CheckedContinuation<ProcessWatch.Outcome, Never>
    }

    /// Whether output stays in its pipe, because what gets it is full.
    enum Waiting {
        /// Output is read as it comes. Can transition to: waits.
        case no
        /// The pipe isn't watched. Can transition to: no, overdue.
        case waits(since: SuspendingClock.Instant)
        /// The output has waited for as long as it may, and is read until there is room again. Can transition to: no.
        case overdue
    }

    /// The number of descriptors that a spawn leaves to the rest of the program.
    static let reservedDescriptors = 16
    /// The number of FIFOs at the same time that get the capacity of 1 MiB.
    static let largeFIFOs = 32
    /// The milliseconds between two looks whether output that waits may go on.
    private static let waitingInterval: Int32 = 10
    /// The size of the read buffer: as much as a pipe holds by default.
    static let bufferSize = 65_536

    let thread: ProcessThread
    let systemCalls: SystemCalls
    let poll: Int32
    let wake: Int32

    // Tokens instead of descriptor numbers: an event of a descriptor that was closed meanwhile is then not found.
    var children: [UInt64: ChildProcess] = [:]
    var captures: [UInt64: Capture] = [:]
    var watched: [UInt64: Watched] = [:]
    /// The children that are about to become their programs, by the tokens of their status pipes.
    var launches: [UInt64: Launch] = [:]
    /// The times at which the groups of children get SIGKILL.
    var deadlines: [UInt64: PatientDeadline] = [:]
    /// The children that were asked to end.
    var beingStopped: Set<UInt64> = []
    /// The number of failed attempts to get a child's exit status.
    var failedReaps: [UInt64: Int] = [:]
    /// Adopted processes that have ended and weren't reaped by their parents when this looked last, and when they were found so.
    var unreaped: [UInt64: SuspendingClock.Instant] = [:]
    /// Children that could neither be kept nor killed, to be reaped whenever they end.
    var abandoned: [Int32] = []
    // Unsafe pointers, because the kernel fills them; used by this thread only, freed in deinit.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 16)
    private let tokens = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: 64)
    /// Those who wait until what is pending has been read.
    private var readers: [CheckedContinuation<Void, Never>] = []
    private var readingRounds = 0
    /// The number of rounds in a row after which more was pending than one takes.
    private var fullRounds = 0
    /// The rounds after which readers wait no longer for a round in which nothing comes.
    private static let readingLimit = 64
    /// The captures whose output waits.
    var waitingCaptures: Set<UInt64> = []
    private var lastToken = ProcessThread.wakeToken
    private var isEnding = false
    /// The commands that have come since the loop was held; `nil`: it isn't.
    var heldCommands: [ProcessThread.Command]?

    init(thread: ProcessThread, poll: Int32, wake: Int32) {
        self.thread = thread
        self.systemCalls = thread.systemCalls
        self.poll = poll
        self.wake = wake
        tokens.initialize(repeating: 0)
    }

    deinit {
        buffer.deallocate()
        tokens.deallocate()
    }

    func nextToken() -> UInt64 {
        lastToken += 1
        return lastToken
    }

    func run() {
        while true {
            for command in thread.takeCommands() { run(command) }
            if heldCommands != nil {
                waitForCommand()
                continue
            }
            resumeCaptures()
            reapAbandoned()
            lookAtUnreaped()
            let isIdle = children.isEmpty && captures.isEmpty && watched.isEmpty && launches.isEmpty
            if isEnding, isIdle, thread.endIfEmpty() { return }

            let count = systemCalls.pollWait(poll, tokens, millisecondsToNextDeadline())
            if count < 0, count != -EINTR {
                // Memory may have run out: the pause keeps this from being a busy loop.
                usleep(10_000)
            }
            for index in 0..<max(0, Int(count)) { handle(tokens[index]) }
            // What is pending comes before a verdict: this process may have stood still until after a deadline. But new things may come all the time.
            fullRounds = count < tokens.count ? 0 : fullRounds + 1
            guard fullRounds % Self.readingLimit == 0 else { continue }
            killOverdueGroups()
            giveUpOverdueStarts()
            answerReaders(hasRead: count <= 0)
        }
    }

    func run(_ command: ProcessThread.Command) {
        if keepsWaiting(command) { return }
        switch command {
        case .survey(let continuation): continuation.resume(returning: living)
        case .hold(let continuation): continuation.resume(returning: hold())
        case .release: release()
        case .replace(let replacement, let continuation): continuation.resume(returning: replace(replacement))
        case .spawn(let specification, let continuation): start(specification, continuation)
        case .adopt(let adoption, let continuation):
            do throws(ProcessError) {
                continuation.resume(returning: .success(try adopt(adoption)))
            } catch {
                continuation.resume(returning: .failure(error))
            }
        case .watch(let watch, let continuation): startWatch(watch, continuation)
        case .cancelWatch(let watch): cancel(watch)
        case .killGroup(let child, let deadline):
            // A later call may shorten the time that a child has left, never lengthen it.
            guard children[child] != nil else { return }
            if deadlines[child].map({ deadline.end < $0.end }) ?? true { deadlines[child] = deadline }
            beingStopped.insert(child)
        case .endCapture(let child): endCaptures(of: child)
        case .readPending(let continuation): readers.append(continuation)
        case .end: isEnding = true
        }
    }

    private func handle(_ token: UInt64) {
        if token == ProcessThread.wakeToken {
            _ = systemCalls.read(wake, buffer)
        } else if launches[token] != nil {
            launchChanged(token)
        } else if captures[token] != nil {
            readCapture(token)
        } else if children[token] != nil {
            childEnded(token)
        } else if watched[token] != nil {
            end(token, .gone)
        }
    }

    private func killOverdueGroups() {
        guard !deadlines.isEmpty else { return }
        for token in Array(deadlines.keys) where deadlines[token]?.look() == true {
            deadlines[token] = nil
            // The group may belong to another user; the exit is awaited in any case.
            try? children[token]?.sendToGroup(.kill)
        }
    }

    /// Answers those who wait until everything that was pending has been read, or so many rounds have passed that new things come all the time.
    private func answerReaders(hasRead: Bool) {
        guard !readers.isEmpty else { return }
        readingRounds += 1
        guard hasRead || fullRounds > 0 || readingRounds >= Self.readingLimit else { return }
        for reader in readers { reader.resume() }
        (readers, readingRounds) = ([], 0)
    }

    private func millisecondsToNextDeadline() -> Int32 {
        if !readers.isEmpty { return 0 }
        if !unreaped.isEmpty { return Self.foreignReapInterval }
        if !waitingCaptures.isEmpty { return Self.waitingInterval }
        guard let next = [deadlines.values.map(\.next).min(), nextGivingUp].compactMap(\.self).min() else { return -1 }
        // Rounded up: waking early would mean another sleep of zero.
        return (next - .now).millisecondsRoundedUp
    }
}

extension ProcessLoop {
    /// Begins to wait for a process that isn't a child of this one.
    func startWatch(_ watch: ProcessWatch, _ continuation: CheckedContinuation<ProcessWatch.Outcome, Never>) {
        guard !watch.isCancelled.load(ordering: .sequentiallyConsistent) else {
            continuation.resume(returning: .cancelled)
            return
        }
        switch watch.identity.open(systemCalls) {
        case .gone: continuation.resume(returning: .gone)
        case .failed: continuation.resume(returning: .failed)
        case .opened(let descriptor):
            let token = nextToken()
            guard systemCalls.pollAdd(poll, descriptor, token) >= 0 else {
                systemCalls.close(descriptor)
                continuation.resume(returning: .failed)
                return
            }
            watched[token] = Watched(watch: watch, descriptor: descriptor, continuation: continuation)
        }
    }

    func cancel(_ watch: ProcessWatch) {
        guard let token = watched.first(where: { $0.value.watch === watch })?.key else { return }
        end(token, .cancelled)
    }

    func end(_ token: UInt64, _ outcome: ProcessWatch.Outcome) {
        guard let entry = watched.removeValue(forKey: token) else { return }
        systemCalls.pollRemove(poll, entry.descriptor)
        systemCalls.close(entry.descriptor)
        entry.continuation.resume(returning: outcome)
    }
}

/// A wait for the end of a process that isn't a child of this one.
final class ProcessWatch: Sendable {
    /// The result of the wait.
    enum Outcome: Sendable {
        case gone
        case cancelled
        /// There was no descriptor for the wait.
        case failed
    }

    let identity: ProcessIdentity
    /// Whether the wait was cancelled; set before the command is posted, so that the order of the commands "wait" and "cancel" doesn't
    /// matter.
    let isCancelled = Atomic(false)

    init(_ identity: ProcessIdentity) {
        self.identity = identity
    }
}

extension ProcessThread {
    /// Waits for the end of a process.
    ///
    /// Cancellation ends the wait.
    func watch(_ identity: ProcessIdentity) async -> ProcessWatch.Outcome {
        let watch = ProcessWatch(identity)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(ProcessError) {
                    try post(.watch(watch, continuation))
                } catch {
                    continuation.resume(returning: .failed)
                }
            }
        } onCancel: {
            watch.isCancelled.store(true, ordering: .sequentiallyConsistent)
            // Without a thread there is nothing to cancel.
            try? post(.cancelWatch(watch))
        }
    }
}
