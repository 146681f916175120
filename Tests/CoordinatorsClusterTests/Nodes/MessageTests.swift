import ConcurrencySupport
import Control
import Links
import Processes
import TestSupport
import Testing
import WireProtocol

/// Real daemons whose coordinators ask one another.
@Suite("Messages between nodes", .sharedEtcd, .timeLimit(.minutes(5))) struct MessageTests {
    /// On each node a caller and a pusher, which ask above themselves; and on one node at a time what answers.
    private static let children = """
          - { name: caller, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
          - { name: pusher, worker: { executable: FIXTURE, coordinator: LedgerCoordinator } }
          - name: root
            placement: cluster
            receives: [Fixture.]
            worker: { executable: FIXTURE, coordinator: RootCoordinator }
          - name: ledger
            placement: cluster
            receives: [Ledger.EnterBeside]
            worker: { executable: FIXTURE, coordinator: BesideCoordinator, configuration: { file: DIRECTORY/ledger } }
        """

    private func with(_ body: (RunningCluster) async throws -> Void) async throws {
        try await RunningCluster.with(Self.children, areLinked: true, body)
    }

    /// Has the caller of a node do something, and returns its answer.
    private func perform(_ action: JSONValue, on name: String, in cluster: RunningCluster) async throws -> JSONValue {
        let ask = ControlOperation.ask(path: "/caller", message: "Fixture.Do", payload: ["action": action], timeout: .seconds(60))
        let answer: AskResult = try await cluster.answer(of: ask, from: name)
        return answer.reply
    }

    private func notes(in cluster: RunningCluster, from name: String) async throws -> JSONValue {
        let ask = ControlOperation.ask(path: "/root", message: "Fixture.Notes", payload: [:], timeout: .seconds(50))
        let answer: AskResult = try await cluster.answer(of: ask, from: name)
        return answer.reply
    }

    @Test func coordinatorsAskThoseOfOtherNodes() async throws {
        try await with { cluster in
            let owner = try await cluster.activeOwner(of: "/root")
            for name in RunningCluster.names {
                #expect(try await perform(["echo": ["_0": "from \(name)"]], on: name, in: cluster) == "from \(name)")
                #expect(try await perform(["refuse": ["asCodable": true]], on: name, in: cluster) == "Refusal: not today")
                #expect(try await perform(["refuse": ["asCodable": false]], on: name, in: cluster) != "not refused")
                #expect(try await perform(["sendUnhandled": [:]], on: name, in: cluster) == "nobody")
                guard case .string(let text) = try await perform(["remaining": [:]], on: name, in: cluster), let seconds = Int(text)
                else {
                    Issue.record("the deadline didn't arrive on \(owner)")
                    continue
                }
                // That of the operator, who has asked the caller.
                #expect((50...60).contains(seconds))
            }
            // In the order in which they were sent: one-way, and asked at the same time.
            let caller = try #require(RunningCluster.names.first { $0 != owner })
            #expect(try await perform(["sendNotes": ["_0": 300]], on: caller, in: cluster) == "sent")
            #expect(try await perform(["askNotes": ["_0": 300]], on: caller, in: cluster) == "asked")
            let expected = JSONValue.array(((0..<300).map { $0 } + (0..<300).map { $0 }).map { .integer(Int64($0)) })
            try await cluster.eventually("all notes have arrived") { try await notes(in: cluster, from: caller) == expected }
            // An asker that gives up ends the handler there.
            await #expect(throws: ControlError.self) {
                try await perform(["waitAbove": ["milliseconds": 300]], on: caller, in: cluster)
            }
            try await cluster.eventually("the handler is cancelled") {
                let ask = ControlOperation.ask(path: "/root", message: "Fixture.CancelledWaits", payload: [:], timeout: .seconds(50))
                let answer: AskResult = try await cluster.answer(of: ask, from: caller)
                return answer.reply == 1
            }
        }
    }

    /// The outcomes of entries that the pushers of all nodes send.
    private func push(_ count: Int, on name: String, sender: Int, in cluster: RunningCluster) async throws -> [String] {
        let payload: JSONValue = ["sender": .integer(Int64(sender)), "count": .integer(Int64(count))]
        let ask = ControlOperation.ask(path: "/pusher", message: "Ledger.PushBeside", payload: payload, timeout: .seconds(120))
        let answer: AskResult = try await cluster.answer(of: ask, from: name)
        return try ControlJSON.decode([String].self, from: answer.reply)
    }

    private struct Entry {
        var sender: Int
        var number: Int
    }

    private func entries(in cluster: RunningCluster) -> [Entry] {
        (Files.text(of: cluster.directory.file("ledger")) ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 5, let sender = Int(words[3]), let number = Int(words[4]) else { return nil }
            return Entry(sender: sender, number: number)
        }
    }

    /// Entries come from all nodes while the ledger moves: each is made once and in order, or its sender knows.
    @Test func aMovingCoordinatorLosesAndDoublesNothing() async throws {
        try await with { cluster in
            var owner = try await cluster.activeOwner(of: "/ledger")
            let (count, mostFailures) = (1_500, 3 * 4)
            let outcomes = try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
                for (sender, name) in RunningCluster.names.enumerated() {
                    group.addTask { (sender, try await push(count, on: name, sender: sender, in: cluster)) }
                }
                for _ in 0..<4 {
                    let former = owner
                    let target = try #require(RunningCluster.names.filter { $0 != former }.randomElement())
                    #expect(try await cluster.control("a", "move", "/ledger", target).exitCode == 0)
                    owner = try await cluster.activeOwner(of: "/ledger", besides: former)
                    let number = entries(in: cluster).count
                    // All may have been sent by now, and those that failed aren't there.
                    let expected = min(number + 30, 3 * count - mostFailures - 1)
                    try await cluster.eventually("entries go on") { entries(in: cluster).count > expected }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            try check(outcomes, in: cluster, mostFailures: mostFailures)
        }
    }

    /// The daemon of the ledger's node is killed, again and again.
    @Test func aKilledNodeLosesNothingThatWasAcknowledged() async throws {
        try await with { cluster in
            let outcomes = try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
                let owner = try await cluster.activeOwner(of: "/ledger")
                let pushers = RunningCluster.names.filter { $0 != owner }
                for (sender, name) in pushers.enumerated() {
                    group.addTask { (sender, try await push(3_000, on: name, sender: sender, in: cluster)) }
                }
                try await cluster.eventually("entries are made") { entries(in: cluster).count > 100 }
                try await cluster.kill(owner)
                try await cluster.activeOwner(of: "/ledger", besides: owner, for: pushers)
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            try check(outcomes, in: cluster, mostFailures: 2 * 2)
        }
    }

    private func check(_ outcomes: [Int: [String]], in cluster: RunningCluster, mostFailures: Int) throws {
        let entries = entries(in: cluster)
        var failures: [String] = []
        for (sender, outcomes) in outcomes {
            let numbers = entries.filter { $0.sender == sender }.map(\.number)
            #expect(Set(numbers).count == numbers.count, "an entry was made twice")
            #expect(numbers == numbers.sorted(), "entries of one sender were made in another order")
            let made = Set(numbers)
            for (number, outcome) in outcomes.enumerated() {
                if outcome == "true" {
                    #expect(made.contains(number), "entry \(number) of \(sender) was acknowledged and isn't there")
                } else {
                    failures.append(outcome)
                }
            }
        }
        print("\(entries.count) entries; not acknowledged: \(failures)")
        #expect(failures.count <= mostFailures, "\(failures)")
    }

    /// A link of the test's to a node.
    private final class Caller: Sendable {
        let link: Link
        let replies = Lock<[UInt64: Content]>([:])

        init(_ guest: Guest, to name: String) async throws {
            let address = try #require(try await Guest.address(of: name, in: guest.cluster))
            link = Link.over(try await guest.links.connectForMessages(to: name, at: address))
            link.start(
                Link.Handler(
                    frameReceived: { [self] _, frame in
                        if case .reply = frame.content { replies.withLock { $0[frame.correlation] = frame.content } }
                    },
                    closed: { _, _ in }
                )
            )
        }

        /// Asks for an entry, and returns the reply.
        func enter(_ number: UInt64, target: String) async throws -> Content? {
            try ask(number, target: target)
            return await reply(to: number)
        }

        func reply(to number: UInt64) async -> Content? {
            _ = await eventually { replies.withLock { $0[number] } != nil }
            return replies.withLock { $0[number] }
        }

        func ask(_ number: UInt64, target: String) throws {
            let payload = Bytes(#"{"enter":{"sender":9,"number":\#(number),"milliseconds":0}}"#.utf8)
            try link.send { name in
                let ask = Ask(target: name(target), sender: name("/guest"), message: name("Ledger.EnterBeside"), payload: payload)
                return Frame(.ask(ask), correlation: number, codec: .json, flags: .direct)
            }
        }
    }

    @Test func messagesForAnotherEpochAreRefused() async throws {
        try await with { cluster in
            let owner = try await cluster.activeOwner(of: "/ledger")
            let epoch = try #require(try await cluster.place(of: "/ledger", from: "a").epoch)
            try await Guest.with(cluster) { guest in
                let caller = try await Caller(guest, to: owner)
                guard case .reply(.success)? = try await caller.enter(1, target: "@\(epoch)/ledger") else {
                    Issue.record("the owner didn't take a message for its epoch")
                    return
                }
                let other = try await Caller(guest, to: try #require(RunningCluster.names.first { $0 != owner }))
                let wrong = [(caller, epoch - 1, 2), (caller, epoch + 1_000, 3), (other, epoch, 4)] as [(Caller, UInt64, UInt64)]
                for (caller, epoch, number) in wrong {
                    guard case .reply(.failure(let failure))? = try await caller.enter(number, target: "@\(epoch)/ledger") else {
                        Issue.record("a message for epoch \(epoch) was taken")
                        continue
                    }
                    #expect(failure.code == "notHere", "\(failure)")
                }
                // A child that isn't the cluster's, no child, and no target.
                for (number, target) in ["@\(epoch)/caller", "@0/nobody", "/ledger", "@x/ledger", ""].enumerated() {
                    guard case .reply(.failure)? = try await caller.enter(UInt64(number) + 5, target: target) else {
                        Issue.record("a message for \(target) was taken")
                        continue
                    }
                }
                #expect(entries(in: cluster).map(\.number) == [1])
            }
        }
    }

    /// The daemon goes on when the next owner has begun, and finds messages for the epoch that was its own.
    @Test func aSuspendedNodeHandlesNothingUnderItsOldEpoch() async throws {
        try await with { cluster in
            try await Guest.with(cluster) { guest in
                var first: UInt64 = 1
                for _ in 0..<rounds(short: 2, all: 20, long: 200) {
                    let owner = try await cluster.activeOwner(of: "/ledger")
                    let epoch = try #require(try await cluster.place(of: "/ledger", from: owner).epoch)
                    let caller = try await Caller(guest, to: owner)
                    guard case .reply(.success)? = try await caller.enter(first, target: "@\(epoch)/ledger") else {
                        Issue.record("the owner didn't take a message for its epoch")
                        return
                    }
                    try await stopProcess(cluster.daemon(owner))
                    let others = RunningCluster.names.filter { $0 != owner }
                    try await cluster.activeOwner(of: "/ledger", besides: owner, for: others)
                    let late = (first + 1)...(first + 50)
                    for number in late { try caller.ask(number, target: "@\(epoch)/ledger") }
                    try cluster.daemon(owner).send(.continue)
                    for number in late {
                        guard case .reply(.failure(let failure))? = await caller.reply(to: number), failure.code == "notHere" else {
                            Issue.record("message \(number) for epoch \(epoch) was taken")
                            break
                        }
                    }
                    #expect(entries(in: cluster).allSatisfy { !late.contains(UInt64($0.number)) }, "handled under epoch \(epoch)")
                    first = late.upperBound + 1
                    try await cluster.eventually("the node is a member again") {
                        try await cluster.nodes(from: owner).membership == "member"
                    }
                }
            }
        }
    }
}
