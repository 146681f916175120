import Coordinators

/// Children that are started in this process, one after the other or all at once, and then stopped one after the other.
struct Starts: Measurement {
    /// Makes the root start children and stop them.
    struct Request: ResponderMessage {
        struct Reply: Codable, Sendable {
            var startTime: Int64 = 0
            var stopTime: Int64 = 0
            /// The memory that is resident more than before.
            var residentBytes = 0
            /// The same, after the allocator has returned what nothing uses any more.
            var heldBytes = 0
        }

        var count: Int
        var atOnce: Bool
    }

    let count: Int
    let atOnce: Bool

    init(_ arguments: inout Arguments) throws {
        count = try arguments.take("count", default: 10_000)
        atOnce = try arguments.take("at-once", default: false)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        _ = try await runtime.ask(Request(count: 100, atOnce: false), timeout: .seconds(60))
        let reply = try await runtime.ask(Request(count: count, atOnce: atOnce), timeout: .seconds(300))
        Figures.print("starts", Double(count) / Double(reply.startTime) * 1e9)
        Figures.print("start", Double(reply.startTime) / Double(count))
        Figures.print("time", reply.startTime)
        Figures.print("bytes", Double(reply.residentBytes) / Double(count))
        Figures.print("held-bytes", Double(reply.heldBytes) / Double(count))
        Figures.print("stops", Double(count) / Double(reply.stopTime) * 1e9)
    }
}

extension Starts.Request {
    @concurrent
    func start(_ root: Root.Context) async throws -> Reply {
        let keys = (0..<count).map { "\($0)" }
        var reply = Reply()
        let resident = ProcessUsage.residentBytes
        reply.startTime = try await Clock.duration {
            if atOnce {
                // A group that keeps no ended tasks, which are larger than the children, and would be counted with them.
                try await withThrowingDiscardingTaskGroup { group in
                    for key in keys { group.addTask { _ = try await root.start(Idle.self, as: key) } }
                }
            } else {
                for key in keys { try await root.start(Idle.self, as: key) }
            }
        }
        reply.residentBytes = ProcessUsage.residentBytes - resident
        ProcessUsage.returnFreeMemory()
        reply.heldBytes = ProcessUsage.residentBytes - resident
        reply.stopTime = try await Clock.duration {
            for key in keys { try await root.remove(key) }
        }
        return reply
    }
}
