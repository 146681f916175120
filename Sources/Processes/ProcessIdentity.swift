import Glibc

/// One life of a process number: the number, and when the process began.
///
/// Numbers are used again; the pair is not. Only what is in /proc counts, so with `hidepid` other users' processes look gone.
public struct ProcessIdentity: Sendable, Hashable, Codable {
    /// The number.
    public let processID: Int32
    /// Field 22 of /proc/PID/stat: clock ticks since boot; see proc_pid_stat(5).
    public let startTime: UInt64

    /// An identity that was told by somebody else, such as a peer or a file.
    public init(processID: Int32, startTime: UInt64) {
        self.processID = processID
        self.startTime = startTime
    }

    /// The process that has this number now; nil when there is none.
    ///
    /// One that has ended but was not waited for still counts. One that can't be looked at, because no descriptors are left, doesn't.
    public init?(processID: Int32) {
        self.init(processID: processID, systemCalls: .live)
    }

    init?(processID: Int32, systemCalls: SystemCalls) {
        guard let statistics = try? systemCalls.parsedStatistics(of: processID) else { return nil }
        self.init(processID: processID, startTime: statistics.startTime)
    }

    /// Whether a process that has this number is alive, for all that is known: a zombie isn't.
    ///
    /// While it can't be looked at, because no descriptors are left, it counts as alive.
    package static func mayLive(_ processID: Int32) -> Bool { mayLive(processID, .live) }

    static func mayLive(_ processID: Int32, _ systemCalls: SystemCalls) -> Bool {
        do throws(ProcessError) {
            return try systemCalls.parsedStatistics(of: processID)?.isZombie == false
        } catch {
            return true
        }
    }

    /// This process.
    public static let current = ProcessIdentity(processID: getpid()) ?? ProcessIdentity(processID: getpid(), startTime: 0)

    /// Whether this very process exists and has not ended: a zombie, or a stranger with the same number, is not alive.
    ///
    /// While it can't be looked at, because no descriptors are left, it counts as alive.
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

    /// The session of the process, which is the number of the process that began it; nil when the process is gone.
    public var sessionID: Int32? {
        (try? statistics(.live))?.sessionID
    }

    /// What the kernel says about this process, not about a stranger with its number; nil when it is gone.
    ///
    /// - Throws: when it could not be looked at.
    func statistics(_ systemCalls: SystemCalls) throws(ProcessError) -> ProcessStatistics? {
        guard let statistics = try systemCalls.parsedStatistics(of: processID), statistics.startTime == startTime else { return nil }
        return statistics
    }
}

extension ProcessIdentity: CustomStringConvertible {
    /// Such as "4711@1234567".
    public var description: String { "\(processID)@\(startTime)" }
}
