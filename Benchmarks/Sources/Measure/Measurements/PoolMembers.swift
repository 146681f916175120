import Coordinators

/// A pool of so many members: the time to start it, to have each member handle ten messages, all at once, and to end it.
struct PoolMembers: Measurement {
    /// Makes the root measure; answered with nanoseconds.
    struct Request: ResponderMessage {
        typealias Reply = Int64
        var members: Int
    }

    /// A member of the pool, which handles one message at a time.
    actor Member: Coordinator {
        struct Work: ResponderMessage { typealias Reply = Int }

        static let mailbox = MailboxPolicy(running: 1)

        static let responders: Responders = [
            .respond(to: Work.self) { _, _ in
                await Task.yield()
                return 1
            }
        ]

        nonisolated let context: Context

        init(_ context: Context) { self.context = context }
    }

    let members: Int

    init(_ arguments: inout Arguments) throws { members = try arguments.take("members", default: 100) }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        _ = try await runtime.ask(Request(members: 10), timeout: .seconds(60))
        Figures.print("time", try await runtime.ask(Request(members: members), timeout: .seconds(60)))
    }
}

extension PoolMembers.Request {
    private static let turns = 10

    @concurrent
    func measure(_ root: Root.Context) async throws -> Int64 {
        try await Clock.duration {
            let pool = try await root.start(PoolMembers.Member.self, as: "members", in: .pool(members))
            for _ in 0..<Self.turns {
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<members {
                        group.addTask { _ = try await root.ask(PoolMembers.Member.Work(), timeout: .seconds(60)) }
                    }
                }
            }
            await pool.remove()
        }
    }
}
