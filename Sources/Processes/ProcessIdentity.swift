import Glibc

/// The identity of a process: its number, and the time of its start, since numbers are used again.
///
/// Numbers are reused; the pair is not. Only what /proc shows counts, so with `hidepid` other users' processes look gone.
public struct ProcessIdentity: Sendable, Hashable, Codable {
    /// The process number.
    public let processID: Int32
    /// The start time: field 22 of /proc/PID/stat, in clock ticks since boot; see proc_pid_stat(5).
    public let startTime: UInt64

    /// Creates an identity from known values, such as those in a message or a file.
    public init(processID: Int32, startTime: UInt64) {
        self.processID = processID
        self.startTime = startTime
    }

    /// Looks up the process that has this number now; nil when there is none.
    ///
    /// A process that has ended but was not waited for still counts. A process that can't be examined, because no descriptors are left,
    /// doesn't.
    public init?(processID: Int32) {
        self.init(processID: processID, systemCalls: .live)
    }

    init?(processID: Int32, systemCalls: SystemCalls) {
        guard let statistics = try? systemCalls.parsedStatistics(of: processID) else { return nil }
        self.init(processID: processID, startTime: statistics.startTime)
    }

    /// Whether a process that has this number is alive, as far as is known: a zombie isn't.
    ///
    /// A process that can't be examined, because no descriptors are left, counts as alive.
    package static func mayLive(_ processID: Int32) -> Bool { mayLive(processID, .live) }

    static func mayLive(_ processID: Int32, _ systemCalls: SystemCalls) -> Bool {
        do throws(ProcessError) {
            return try systemCalls.parsedStatistics(of: processID)?.isZombie == false
        } catch {
            return true
        }
    }

    /// The name of the first process of this one's namespace, cut to 15 bytes; nil when it can't be read.
    package static var nameOfFirstProcess: String? {
        guard let file = fopen("/proc/1/comm", "re") else { return nil }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// The identity of the current process.
    public static let current = ProcessIdentity(processID: getpid()) ?? ProcessIdentity(processID: getpid(), startTime: 0)

    /// Whether this process exists and has not ended: a zombie, or another process with the same number, is not alive.
    ///
    /// A process that can't be examined, because no descriptors are left, counts as alive.
    public var isAlive: Bool {
        isAlive(.live)
    }

    func isAlive(_ systemCalls: SystemCalls) -> Bool {
        do throws(ProcessError) {
            return try statistics(systemCalls)?.isZombie == false
        } catch {
            return true
        }
    }

    /// Whether the process exists and has been stopped, by a signal or a debugger: it does nothing until it is continued.
    public var isStopped: Bool {
        let states: [UInt8] = [UInt8(ascii: "T"), UInt8(ascii: "t")]
        return (try? statistics(.live)).map { states.contains($0.state) } ?? false
    }

    /// Whether the process is this one or was, by way of its parents, started by it, as the kernel knows it now.
    public func isInSubtree(of root: ProcessIdentity) -> Bool {
        guard root.isAlive, (try? statistics(.live)) != nil else { return false }
        var (next, depth) = (processID, 0)
        while next != root.processID {
            guard depth < 1_000, next > 1, let parent = (try? ProcessTable.statistics(of: next))?.parentID else { return false }
            (next, depth) = (parent, depth + 1)
        }
        return true
    }

    /// The session of the process: the number of the process that created it; nil when the process is gone.
    public var sessionID: Int32? {
        (try? statistics(.live))?.sessionID
    }

    /// The user as whom the process acts, its effective one; nil when the process is gone or can't be examined.
    package var userID: UInt32? { users?.effective }

    /// Whether a user has started the process, and may therefore end it, whatever program it runs by now; false when it's gone or can't be
    /// examined.
    package func wasStarted(by user: UInt32) -> Bool { users?.real == user }

    private var users: (real: UInt32, effective: UInt32)? {
        let users = ProcessTable.users(of: processID)
        // They were this process's if the number still is.
        return (try? statistics(.live)) != nil ? users : nil
    }

    /// Reads the kernel's data about this process, not about another one with its number; nil when the process is gone.
    ///
    /// - Throws: An error when the data could not be read.
    func statistics(_ systemCalls: SystemCalls) throws(ProcessError) -> ProcessStatistics? {
        guard let statistics = try systemCalls.parsedStatistics(of: processID), statistics.startTime == startTime else { return nil }
        return statistics
    }
}

extension ProcessIdentity: CustomStringConvertible {
    /// The number and the start time, such as "4711@1234567".
    public var description: String { "\(processID)@\(startTime)" }
}

extension ProcessIdentity {
    /// Sends a signal to this process, which need not be a child; never to another process that got its number.
    ///
    /// - Throws: `.noSuchProcess` when the process is gone, `.permissionDenied` when it belongs to another user.
    public func send(_ signal: Signal) throws(ProcessError) {
        try send(signal, systemCalls: .live)
    }

    func send(_ signal: Signal, systemCalls: SystemCalls) throws(ProcessError) {
        let action = "send \(signal) to process \(processID)"
        let descriptor: Int32
        switch open(systemCalls) {
        case .opened(let opened): descriptor = opened
        case .gone: throw ProcessError(ESRCH, action: action)
        case .failed(let errno): throw ProcessError(errno, action: action)
        }
        defer { systemCalls.close(descriptor) }
        let result = systemCalls.signalProcess(descriptor, signal.rawValue)
        guard result >= 0 else { throw ProcessError(-result, action: action) }
    }

    /// The result of opening a pidfd.
    enum Opened: Equatable {
        case opened(Int32)
        case gone
        case failed(errno: Int32)
    }

    /// Opens a pidfd of this process.
    ///
    /// The descriptor is opened first and the start time read afterwards: if the number still belongs to this process then, it did at the
    /// opening.
    func open(_ systemCalls: SystemCalls) -> Opened {
        guard processID > 0 else { return .gone }
        let descriptor = systemCalls.openProcess(processID)
        if SystemCalls.isGone(descriptor) { return .gone }
        guard descriptor >= 0 else { return .failed(errno: -descriptor) }
        do throws(ProcessError) {
            if try statistics(systemCalls) != nil { return .opened(descriptor) }
            systemCalls.close(descriptor)
            return .gone
        } catch {
            systemCalls.close(descriptor)
            return .failed(errno: error.errno)
        }
    }
}

extension ProcessIdentity {
    /// Waits until this process has ended; returns at once if it has already.
    ///
    /// The process need not be a child.
    ///
    /// The wait is a sleep in the kernel (a pidfd, see pidfd_open(2)). Only while descriptors or threads have run out is the process
    /// examined every 100 ms. Cancellation ends the wait early: check `isAlive`.
    public func waitUntilGone() async {
        await waitUntilGone(on: ProcessSpawner.shared.thread)
    }

    func waitUntilGone(on thread: ProcessThread) async {
        while isAlive(thread.systemCalls), !Task.isCancelled {
            guard await thread.watch(self) == .failed else { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}

/// The fields of /proc/PID/stat that tell whether a process lives and identify it; see proc_pid_stat(5).
struct ProcessStatistics: Sendable, Equatable {
    /// The state, field 3, such as "S" or "Z".
    let state: UInt8
    /// The parent, field 4.
    let parentID: Int32
    /// The process group, field 5.
    let groupID: Int32
    /// The session, field 6.
    let sessionID: Int32
    /// The number of threads, field 20.
    let threadCount: Int
    /// The start time, field 22, in clock ticks since boot.
    let startTime: UInt64

    /// Whether the process has ended and only its exit status is left.
    ///
    /// A process whose first thread has ended while others run shows as a zombie too, but counts the others.
    var isZombie: Bool {
        switch state {
        case UInt8(ascii: "Z"), UInt8(ascii: "X"), UInt8(ascii: "x"): threadCount <= 1
        default: false
        }
    }

    /// Parses the kernel's line; nil if the line is malformed.
    init?(parsing line: some Collection<UInt8> & BidirectionalCollection<UInt8>) {
        // Field 2 is the program's name in parentheses, and may itself hold spaces and parentheses: the last one ends it.
        guard let nameEnd = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = line[line.index(after: nameEnd)...]
            .split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") })
        func number<Number: FixedWidthInteger>(_ field: Int) -> Number? {
            Number(String(decoding: fields[field - 3], as: UTF8.self))
        }
        guard fields.count >= 20, let state = fields[0].first, let parentID: Int32 = number(4), let groupID: Int32 = number(5),
            let sessionID: Int32 = number(6), let threadCount: Int = number(20), let startTime: UInt64 = number(22)
        else { return nil }
        self.state = state
        self.parentID = parentID
        self.groupID = groupID
        self.sessionID = sessionID
        self.threadCount = threadCount
        self.startTime = startTime
    }
}
