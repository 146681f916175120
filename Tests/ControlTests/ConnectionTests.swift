import ConcurrencySupport
import NNG
import TestSupport
import Testing
import WireProtocol

@testable import Control

@Suite("The limits of connections", .timeLimit(minutes: 2))
struct ConnectionTests {
    /// Connections that remember which of them were closed.
    private final class Fakes: Sendable {
        let closed = Lock<[String]>([])

        func seat(_ name: String, in table: ConnectionTable, process: Int32 = 1, user: Int64 = 1) async -> ConnectionTable.Seat? {
            await table.seat(of: .process(process, user: user)) { self.closed.withLock { $0.append(name) } }
        }

        /// Adds a connection that is busy.
        func busySeat(_ name: String, in table: ConnectionTable, process: Int32, user: Int64) async -> Bool {
            guard let seat = await seat(name, in: table, process: process, user: user) else { return false }
            table.requestBegan(on: seat)
            return true
        }

        var names: [String] { closed.withLock { $0 } }
    }

    private static func limits(_ count: Int) -> ConnectionLimits {
        var limits = ConnectionLimits()
        limits.maximumCount = count
        limits.descriptorRoom = { 1_000 }
        return limits
    }

    @Test("The connection that has been idle for longest gives way, and one with an open request doesn't")
    func longestIdle() async throws {
        let table = ConnectionTable(Self.limits(3))
        let fakes = Fakes()
        let first = try #require(await fakes.seat("first", in: table))
        let second = try #require(await fakes.seat("second", in: table))
        _ = try #require(await fakes.seat("third", in: table))
        table.requestBegan(on: first)
        // It's idle again, and so for the shortest time.
        table.requestBegan(on: second)
        table.requestEnded(on: second)
        _ = try #require(await fakes.seat("fourth", in: table))
        #expect(fakes.names == ["third"])
        _ = try #require(await fakes.seat("fifth", in: table))
        #expect(fakes.names == ["third", "second"])
        #expect(table.count == 3)
    }

    @Test("When all connections are busy, the process with most of them loses its oldest; when each has one, a new connection is refused")
    func greedy() async throws {
        let table = ConnectionTable(Self.limits(3))
        let fakes = Fakes()
        for (name, process) in [("modest", Int32(1)), ("greedy 1", 2), ("greedy 2", 2)] {
            table.requestBegan(on: try #require(await fakes.seat(name, in: table, process: process)))
        }
        let operatorSeat = try #require(await fakes.seat("operator", in: table, process: 3))
        table.requestBegan(on: operatorSeat)
        #expect(fakes.names == ["greedy 1"])
        #expect(await fakes.seat("late", in: table, process: 4) == nil)
        #expect(table.count == 3)
    }

    @Test("A user with many processes keeps no other one out; users with equal shares don't take turns")
    func users() async {
        let (table, fakes) = (ConnectionTable(Self.limits(4)), Fakes())
        for process in 1...4 { #expect(await fakes.busySeat("crowd \(process)", in: table, process: Int32(process), user: 1)) }
        #expect(await !fakes.busySeat("crowd 5", in: table, process: 5, user: 1), "each process of its own user has one")
        for process in 6...7 { #expect(await fakes.busySeat("root \(process)", in: table, process: Int32(process), user: 0)) }
        #expect(fakes.names == ["crowd 1", "crowd 2"])
        // Both have two now.
        #expect(await !fakes.busySeat("root 8", in: table, process: 8, user: 0))
        #expect(await !fakes.busySeat("crowd 9", in: table, process: 9, user: 1))
        #expect(fakes.names.count == 2)
        // One that has nothing is served.
        #expect(await fakes.busySeat("third", in: table, process: 10, user: 2))
        #expect(fakes.names.count == 3 && table.count == 4)
    }

    @Test("Of a user with most connections, the process with most of them gives way first")
    func processOfUser() async {
        let (table, fakes) = (ConnectionTable(Self.limits(4)), Fakes())
        for (name, process) in [("modest", Int32(1)), ("greedy 1", 2), ("greedy 2", 2), ("other", 3)] {
            #expect(await fakes.busySeat(name, in: table, process: process, user: 1))
        }
        #expect(await fakes.busySeat("root", in: table, process: 4, user: 0))
        #expect(fakes.names == ["greedy 1"])
    }

    @Test("Connections leave descriptors alone that others need, except for a few; and the last ones always")
    func descriptors() async throws {
        let room = Lock(20)
        var limits = Self.limits(100)
        limits.descriptorRoom = { room.withLock { $0 } }
        let table = ConnectionTable(limits)
        let fakes = Fakes()
        for index in 1...5 { _ = try #require(await fakes.seat("\(index)", in: table)) }
        #expect(fakes.names == ["1"])
        #expect(table.count == limits.guaranteedCount)
        room.withLock { $0 = 3 }
        #expect(await fakes.seat("last", in: table) == nil)
        #expect(table.count == 0)
    }

    @Test("A client that the server has no descriptor for tries again, for as long as it may")
    func turnedAway() async throws {
        let room = DescriptorRoom(3)
        try await withServer(limiting: { $0.descriptorRoom = { room.look() } }) { directory, _ in
            let error = await #expect(throws: ControlError.self) {
                try await ControlClient.connect(runtimeDirectory: directory, timeout: .milliseconds(300))
            }
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("doesn't take connections") == true)
            let looks = room.looks
            async let client = ControlClient.connect(runtimeDirectory: directory, timeout: .seconds(20))
            try await eventually("it's turned away") { room.looks > looks }
            room.set(1_000)
            #expect(try await client.call(.ping) == ["op": "ping"])
        }
    }

    @Test("An idle connection is ended with a reason")
    func idle() async throws {
        try await withServer(limiting: { $0.idleTimeout = .milliseconds(100) }) { directory, _ in
            let silent = try await RawClient(directory)
            #expect(try await silent.hear().contains("which was idle; connect again"))
            await #expect(throws: NNGError.self) { try await silent.hear() }
        }
    }

    @Test("A connection isn't idle while a request is open, however long that takes")
    func busy() async throws {
        var limits = Self.limits(3)
        limits.idleTimeout = .milliseconds(50)
        let (table, fakes) = (ConnectionTable(limits), Fakes())
        let seat = try #require(await fakes.seat("busy", in: table))
        table.requestBegan(on: seat)
        let isOver = Lock(false)
        async let hasIdled = {
            let hasIdled = await table.hasIdled(seat)
            return (hasIdled, isOver.withLock { $0 })
        }()
        // One after the other, others that have come later have idled.
        for _ in 1...3 {
            let idle = try #require(await fakes.seat("idle", in: table))
            #expect(await table.hasIdled(idle))
        }
        isOver.withLock { $0 = true }
        table.requestEnded(on: seat)
        #expect(await hasIdled == (true, true))
        table.leave(seat)
        #expect(await !table.hasIdled(seat))
    }

    @Test("Descriptions that one connection has open are limited, so that others have their share")
    func descriptions() async throws {
        let handler = FakeHandler { _ in
            // Until the client goes away.
            try? await untilCancelled()
            return .success([:])
        }
        try await withServer(handler) { directory, _ in
            let greedy = try await RawClient(directory)
            for id in 1...65 { try await greedy.say(#"{"v":1,"id":\#(id),"op":"tree"}"#) }
            let refusal = try await greedy.hear()
            #expect(refusal.contains(#""id":65"#) && refusal.contains("64 descriptions of this connection are open"))
        }
    }

    @Test("A connection without a greeting within the time-out is ended")
    func silence() async throws {
        try await withServer(limiting: { $0.handshakeTimeout = .milliseconds(100) }) { directory, _ in
            let silent = try await ByteStream.dial("ipc://" + directory.controlSocket, timeout: .seconds(50))
            var heard: [UInt8] = []
            while let bytes = try? await silent.receive(upTo: 100) { heard += bytes }
            #expect(heard == [0, 0x53, 0x50, 0, 0, 0x10, 0, 0])
        }
    }

    @Test("A connection that is being made when all are dismissed hears of it before that is done")
    func dismissal() async throws {
        try await withServer(limiting: { ($0.handshakeTimeout, $0.dismissalTimeout) = (.seconds(30), .seconds(30)) }) { directory, server in
            let stream = try await ByteStream.dial("ipc://" + directory.controlSocket, timeout: .seconds(50))
            let greeting = try await stream.receive(upTo: 8)
            let isDone = Lock(false)
            let hasBegun = OneShot<Void>()
            let dismissal = Task {
                hasBegun.settle()
                await server.dismissAll()
                isDone.withLock { $0 = true }
            }
            await hasBegun.value
            // One that begins later, and has nothing to wait for, is done.
            try await withServer { _, other in await other.dismissAll() }
            #expect(isDone.withLock { !$0 })
            try await stream.send(greeting)
            await dismissal.value
            var heard: [UInt8] = []
            while let bytes = try? await stream.receive(upTo: 1_000), !bytes.isEmpty {
                heard += bytes
                if heard.last == UInt8(ascii: "}") { break }
            }
            #expect(String(decoding: heard, as: UTF8.self).contains(RequestIntake.closed.message))
        }
    }

    @Test("A request far beyond the size limit ends its connection before it is in memory")
    func hugeRequest() async throws {
        try await withServer { directory, _ in
            let connection = try await PairConnection.dial("ipc://" + directory.controlSocket, maximumMessageSize: 64 << 20)
            try? await connection.send([UInt8](repeating: 0x20, count: 32 << 20))
            await #expect(throws: NNGError.self) { try await connection.receive() }
        }
    }

    @Test("The bytes of a resource are bounded over all peers and for each; one that has nothing gets something")
    func bytes() {
        let budget = ByteBudget(maximum: 200)
        let (greedy, other) = (ControlPeer.user(1), ControlPeer.node("a"))
        #expect(budget.reserve(150, for: greedy), "the first one always fits")
        #expect(!budget.reserve(1, for: greedy))
        #expect(budget.reserve(60, for: other))
        #expect(!budget.reserve(1, for: other), "the sum")
        budget.giveBack(150, of: greedy)
        #expect(budget.reserve(60, for: greedy) && budget.reserve(40, for: greedy))
        #expect(!budget.reserve(1, for: greedy), "the share")
        #expect(budget.reserve(40, for: other) && budget.sum == 200)
        #expect(budget.reserve(.max, for: .user(2)) && !budget.reserve(.max, for: .user(2)), "no sum overflows")
    }
}
