import Supervision
import Testing

/// Every state meets every event, with every restart type, alone and among siblings.
@Suite struct MatrixTests {
    /// A state with a history, and how to get there.
    enum Row: String, CaseIterable {
        case unknown, startingFirst, startingAgain, restarting, running, runningForLong
        case stoppingToStop, stoppingToRemove, stoppingToStart, waiting, stopped, ending

        /// The life that is named by current events.
        func prepare(_ world: inout Observed, _ child: Child) {
            let id = child.id
            func life() -> Incarnation { world.supervisor.state(of: id)?.incarnation ?? 0 }
            if self == .unknown { return }
            world.send(.startRequested(child))
            if self == .startingFirst { return }
            world.send(.started(id, life()))
            switch self {
            case .unknown, .startingFirst, .running:
                break
            case .startingAgain:
                world.send(.stopRequested(id))
                world.send(.exited(id, life(), .shutdown))
                world.send(.startRequested(child))
            case .restarting:
                world.send(.restartRequested(id))
                world.send(.exited(id, life(), .shutdown))
            case .runningForLong:
                world.now += .seconds(100)
            case .stoppingToStop:
                world.send(.stopRequested(id))
            case .stoppingToRemove:
                world.send(.removeRequested(id))
            case .stoppingToStart:
                world.send(.restartRequested(id))
            case .waiting:
                world.send(.exited(id, life(), .hung))
                world.send(.startFailed(id, life(), .startTimedOut))
            case .stopped:
                world.send(.stopRequested(id))
                world.send(.exited(id, life(), .shutdown))
            case .ending:
                world.send(.shutdownRequested(.shutdown))
            }
        }
    }

    enum Column: String, CaseIterable {
        case started, startFailed, crashed, ended, failedForGood, oldStarted, oldExited, futureExited
        case start, stop, remove, restart, timePassed, shutdown, policyChanged, finished, specificationChanged

        func event(_ id: String, _ life: Incarnation, _ policy: SupervisionPolicy) -> Event {
            switch self {
            case .started: .started(id, life)
            case .startFailed: .startFailed(id, life, .startFailed("x"))
            case .crashed: .exited(id, life, .signaled(11))
            case .ended: .exited(id, life, .normal)
            case .failedForGood: .exited(id, life, .exited(code: 78))
            case .oldStarted: .started(id, life &- 1)
            case .oldExited: .exited(id, life &- 1, .hung)
            case .futureExited: .exited(id, life &+ 1, .hung)
            case .start: .startRequested(Child(id: id))
            case .stop: .stopRequested(id)
            case .remove: .removeRequested(id)
            case .restart: .restartRequested(id)
            case .timePassed: .timePassed
            case .shutdown: .shutdownRequested(.shutdown)
            case .policyChanged: .policyChanged(policy)
            case .finished: .finished(id, life)
            case .specificationChanged: .specificationChanged(Child(id: id))
            }
        }
    }

    /// The next state of a permanent child without siblings, by kind of state: `-` for a child that isn't known.
    static let expected: [Row: String] = [
        //               started   startFailed crashed ended   forGood  old old  future   start   stop    remove  restart time  shutdown policy
        // and in the second line: finished, specificationChanged
        .unknown:
            "-        -         -        -        -        -        -        -        starting -        -        -        -        -        -"
            + " -        -",
        .startingFirst:
            "running  -         -        -        -        starting starting starting starting stopping stopping stopping starting stopping starting"
            + " stopping starting",
        .startingAgain:
            "running  stopped   stopped  stopped  stopped  starting starting starting starting stopping stopping stopping starting stopping starting"
            + " stopping starting",
        .restarting:
            "running  starting  starting starting stopped  starting starting starting starting stopping stopping stopping starting stopping starting"
            + " stopping starting",
        .running:
            "running  starting  starting starting stopped  running  running  running  running  stopping stopping stopping running  stopping running"
            + " stopping running",
        .runningForLong:
            "running  starting  starting starting stopped  running  running  running  running  stopping stopping stopping running  stopping running"
            + " stopping running",
        .stoppingToStop:
            "stopping stopped   stopped  stopped  stopped  stopping stopping stopping stopping stopping stopping stopping stopping stopping stopping"
            + " stopping stopping",
        .stoppingToRemove:
            "stopping -         -        -        -        stopping stopping stopping stopping stopping stopping stopping stopping stopping stopping"
            + " stopping stopping",
        .stoppingToStart:
            "stopping starting  starting starting starting stopping stopping stopping stopping stopping stopping stopping stopping stopping stopping"
            + " stopping stopping",
        .waiting:
            "waiting  waiting   waiting  waiting  waiting  waiting  waiting  waiting  waiting  stopped  -        starting starting stopped  waiting"
            + " waiting  waiting",
        .stopped:
            "stopped  stopped   stopped  stopped  stopped  stopped  stopped  stopped  starting stopped  -        starting stopped  stopped  stopped"
            + " stopped  stopped",
        .ending:
            "stopping stopped   stopped  stopped  stopped  stopping stopping stopping stopping stopping stopping stopping stopping stopping stopping"
            + " stopping stopping",
    ]

    static let policy = SupervisionPolicy(intensity: 100, backoff: Backoff(minimum: .milliseconds(100), jitter: 0))

    @Test(arguments: Row.allCases) func aPermanentChildGoesWhereTheTableSays(row: Row) throws {
        let cells = try #require(Self.expected[row]).split(separator: " ")
        try #require(cells.count == Column.allCases.count)
        for (column, expected) in zip(Column.allCases, cells) {
            var world = Observed(Self.policy)
            row.prepare(&world, Child(id: "a"))
            meet(column, "a", &world)
            let kind = world.supervisor.state(of: "a").map { "\($0.kind)" } ?? "-"
            #expect(kind == expected, "\(row.rawValue) × \(column.rawValue)")
        }
    }

    @Test(arguments: Row.allCases) func everyPairKeepsTheInvariantsAndComesToAnEnd(row: Row) {
        for strategy in Strategy.allCases {
            for type in RestartType.allCases {
                for column in Column.allCases {
                    // Among siblings one event more is enough; alone every pair of events is tried.
                    for second in strategy == .oneForOne ? Column.allCases : [.timePassed] {
                        var policy = Self.policy
                        policy.strategy = strategy
                        var world = Observed(policy)
                        for id in ["a", "b", "c"] {
                            (id == "b" ? row : .running).prepare(&world, Child(id: id, restart: id == "b" ? type : .permanent))
                        }
                        meet(column, "b", &world)
                        meet(second, "b", &world)
                        world.bringToAnEnd()
                        guard let complaint = world.complaint else { continue }
                        Issue.record("\(row) × \(column) × \(second), \(type), \(strategy): \(complaint)")
                    }
                }
            }
        }
    }

    private func meet(_ column: Column, _ id: String, _ world: inout Observed) {
        if column == .timePassed { world.now = max(world.now, world.wake ?? world.now) }
        world.send(column.event(id, world.incarnation(id), Self.policy))
    }
}
