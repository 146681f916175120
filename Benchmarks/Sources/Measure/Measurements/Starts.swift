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
            /// The memory that as many children hold that are started in the same way beside them, the mean of several times.
            var furtherBytes = 0
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
        if atOnce { Figures.print("further-bytes", Double(reply.furtherBytes) / Double(count)) }
        Figures.print("stops", Double(count) / Double(reply.stopTime) * 1e9)
    }
}

extension Starts.Request {
    /// The number of times that as many children are started beside the first ones.
    private static let furtherTimes = 8

    @concurrent
    func start(_ root: Root.Context) async throws -> Reply {
        let keys = (0..<count).map { "\($0)" }
        let further = (0..<(atOnce ? Self.furtherTimes : 0)).map { time in keys.map { "\(time)-\($0)" } }
        var reply = Reply()
        let resident = ProcessUsage.residentBytes
        reply.startTime = try await Clock.duration { try await start(keys, root) }
        reply.residentBytes = ProcessUsage.residentBytes - resident
        ProcessUsage.returnFreeMemory()
        reply.heldBytes = ProcessUsage.residentBytes - resident
        for keys in further { try await start(keys, root) }
        ProcessUsage.returnFreeMemory()
        if !further.isEmpty { reply.furtherBytes = (ProcessUsage.residentBytes - resident - reply.heldBytes) / further.count }
        for key in further.joined() { try await root.remove(key) }
        reply.stopTime = try await Clock.duration {
            for key in keys { try await root.remove(key) }
        }
        return reply
    }

    private func start(_ keys: [String], _ root: Root.Context) async throws {
        guard atOnce else {
            for key in keys { try await root.start(Idle.self, as: key) }
            return
        }
        // A group that keeps no ended tasks, which are larger than the children, and would be counted with them.
        try await withThrowingDiscardingTaskGroup { group in
            for key in keys { group.addTask { _ = try await root.start(Idle.self, as: key) } }
        }
    }
}
