/// What the tree looked like at a place, a moment ago.
public struct CoordinatorSnapshot: Sendable, Hashable, Codable {
    /// How a child is doing.
    public enum State: String, Sendable, Hashable, Codable {
        /// It isn't running, and was told so or has ended as it should.
        case inactive
        /// Its `start` hook runs, or its process is on its way.
        case starting
        /// It's ready.
        case active
        /// It's ready, and what is sent to it waits until it's resumed.
        case paused
        /// It's ending.
        case stopping
        /// It has failed and comes back, at once or after a pause.
        case restarting
        /// It has failed more often than the policy allows, or for good.
        case failed
    }

    /// Where it lives.
    public enum Placement: String, Sendable, Hashable, Codable {
        /// In its parent's process.
        case inProcess = "in_process"
        /// In a worker process of its own.
        case worker
        /// It's a plain program.
        case program
    }

    /// Where in the tree.
    public var path: CoordinatorPath
    /// The coordinator's type, or the program's name.
    public var type: String
    /// How it's doing.
    public var state: State
    /// Where it lives.
    public var placement: Placement
    /// The process that hosts it.
    public var processID: Int32?
    /// When that process started, in clock ticks since boot: with the pid it names the process beyond doubt.
    public var processStartTime: UInt64?
    /// Counts its lives.
    public var incarnation: UInt32
    /// How often supervision has restarted it because it had failed; what an operator or recycling has restarted isn't counted.
    public var restarts: Int
    /// While it waits for its next start: the number of restarts in a row, from 1.
    public var restartAttempt: Int?
    /// While it waits for its next start: the time that remains, in milliseconds.
    public var nextStartMilliseconds: Int64?
    /// Since when it's ready, in milliseconds.
    public var uptimeMilliseconds: Int64?
    /// How its last life ended.
    public var lastExit: String?
    /// Whether its process didn't answer in time, so that its children are unknown.
    public var isUnresponsive: Bool
    /// Its children, in start order.
    public var children: [CoordinatorSnapshot]
}

extension CoordinatorSnapshot {
    /// What is left to say of it when it's gone.
    var ended: CoordinatorSnapshot {
        var ended = self
        ended.state = .inactive
        (ended.processID, ended.processStartTime, ended.uptimeMilliseconds, ended.children) = (nil, nil, nil, [])
        // The exit that was the last one then isn't any more.
        (ended.restartAttempt, ended.nextStartMilliseconds, ended.lastExit) = (nil, nil, nil)
        return ended
    }
}
