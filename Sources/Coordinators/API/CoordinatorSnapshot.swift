/// The state of a coordinator and its subtree at one moment.
public struct CoordinatorSnapshot: Sendable, Hashable, Codable {
    /// The process that runs the coordinator.
    public enum Host: String, Sendable, Hashable, Codable {
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
    public var state: CoordinatorState
    /// The process that runs the coordinator: see ``Placement`` for the choice.
    public var host: Host
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
