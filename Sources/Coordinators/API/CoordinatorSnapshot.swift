/// The state of a coordinator and its subtree at one moment.
public struct CoordinatorSnapshot: Sendable, Hashable, Codable {
    /// The state of a child.
    public enum State: String, Sendable, Hashable, Codable {
        /// The child isn't running: it was stopped, or has ended as it should.
        case inactive
        /// The child's `start` hook runs, or its process is being started.
        case starting
        /// The child is ready.
        case active
        /// The child is ready, and messages to it wait until it's resumed.
        case paused
        /// The child is ending.
        case stopping
        /// The child has failed and is started again, at once or after a delay.
        case restarting
        /// The child has failed more often than the policy allows, or for good.
        case failed
    }

    /// The place where the coordinator runs.
    public enum Placement: String, Sendable, Hashable, Codable {
        /// The process of the parent.
        case inProcess = "in_process"
        /// A worker process of its own.
        case worker
        /// A process of its own that runs a plain program.
        case program
    }

    /// The coordinator's place in the tree.
    public var path: CoordinatorPath
    /// The coordinator's type, or the program's name.
    public var type: String
    /// The state of the coordinator.
    public var state: State
    /// The place where the coordinator runs.
    public var placement: Placement
    /// The number of the process that hosts the coordinator.
    public var processID: Int32?
    /// The start time of that process, in clock ticks since boot: together with the number it identifies the process.
    public var processStartTime: UInt64?
    /// The number of the current incarnation, counted from 1.
    public var incarnation: UInt32
    /// The number of restarts by supervision after failures; restarts by an operator or by recycling aren't counted.
    public var restarts = 0
    /// The number of restarts in a row, from 1, while the coordinator waits for its next start.
    public var restartAttempt: Int?
    /// The time until the next start, in milliseconds, while the coordinator waits for it.
    public var nextStartMilliseconds: Int64?
    /// The time for which the coordinator has been ready, in milliseconds.
    public var uptimeMilliseconds: Int64?
    /// The reason why the previous incarnation ended.
    public var lastExit: String?
    /// Whether the coordinator's process didn't answer in time, so that its children are unknown.
    public var isUnresponsive = false
    /// The coordinator's children, in start order.
    public var children: [CoordinatorSnapshot] = []
}

extension CoordinatorSnapshot {
    /// The snapshot of the child when it's gone.
    var ended: CoordinatorSnapshot {
        var ended = self
        ended.state = .inactive
        (ended.processID, ended.processStartTime, ended.uptimeMilliseconds, ended.children) = (nil, nil, nil, [])
        // The exit that was the last one then isn't any more.
        (ended.restartAttempt, ended.nextStartMilliseconds, ended.lastExit) = (nil, nil, nil)
        return ended
    }
}
