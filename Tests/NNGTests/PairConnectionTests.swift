import Glibc
import NNG
import TestSupport
import Testing

@Suite("Pair connections", .serialized, .timeLimit(minutes: 1))
struct PairConnectionTests {
    @Test func messagesArriveInBothDirections() async throws {
        let pair = try await Pair()
        try await pair.dialled.send(Array("ping".utf8))
        #expect(try await pair.accepted.receive() == Array("ping".utf8))
        try await pair.accepted.send([])
        try await pair.accepted.send([0])
        #expect(try await pair.dialled.receive() == [])
        #expect(try await pair.dialled.receive() == [0])
        #expect(pair.accepted.peer?.processID == getpid())
        #expect(pair.dialled.peer?.userID == geteuid())
    }

    /// Around the reader's buffer (64 KiB, with 9 bytes of header) and around the kernel's.
    @Test(arguments: [1, 1000, 65_526, 65_527, 65_528, 65_535, 65_536, 65_537, 131_072, 212_992, 1 << 20])
    func everySize(_ size: Int) async throws {
        let pair = try await Pair()
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        async let sending: Void = {
            try await pair.dialled.send([1])
            try await pair.dialled.send(body)
            try await pair.dialled.send([2])
            try await pair.dialled.send(body)
        }()
        #expect(try await pair.accepted.receive() == [1])
        #expect(try await pair.accepted.receive() == body)
        #expect(try await pair.accepted.receive() == [2])
        #expect(try await pair.accepted.receive() == body)
        try await sending
    }

    @Test func manySmallMessagesArriveInOrder() async throws {
        let pair = try await RawPair()
        let recorder = Recorder()
        recorder.attach(to: pair.connection)
        let expected = (0..<10_000).map { number in
            withUnsafeBytes(of: UInt32(number)) { Array($0) } + Array(repeating: 5, count: number % 90)
        }
        // One write of everything: many messages per read, cut anywhere.
        try await pair.peer.write(expected.flatMap { RawSocket.message($0) })
        #expect(await eventually { recorder.count == 10_000 })
        #expect(recorder.messages == expected)
        #expect(!recorder.overlapped)
        pair.close()
    }

    /// The seed decides sizes and where the writes are cut.
    @Test(arguments: (0..<4).map { _ in UInt64.random(in: 0...UInt64.max) })
    func messagesCutAtRandom(_ seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let pair = try await RawPair()
        let recorder = Recorder()
        recorder.attach(to: pair.connection)
        let sizes = (0..<60).map { _ in
            Bool.random(using: &generator) ? Int.random(in: 0...40, using: &generator) : Int.random(in: 0...150_000, using: &generator)
        }
        let expected = sizes.map { size in (0..<size).map { UInt8(truncatingIfNeeded: $0 &+ size) } }
        var bytes = expected.flatMap { RawSocket.message($0) }[...]
        while !bytes.isEmpty {
            let step =
                Bool.random(using: &generator) ? Int.random(in: 1...12, using: &generator) : Int.random(in: 1...100_000, using: &generator)
            try await pair.peer.write(Array(bytes.prefix(step)))
            bytes = bytes.dropFirst(step)
        }
        #expect(await eventually { recorder.count == sizes.count })
        #expect(recorder.messages == expected, "seed \(seed)")
        #expect(!recorder.overlapped)
        pair.close()
    }

    @Test func callbacksEndWithTheReasonOnce() async throws {
        let pair = try await Pair()
        let here = Recorder()
        let there = Recorder()
        here.attach(to: pair.dialled)
        there.attach(to: pair.accepted)
        #expect(await pair.dialled.transmitted([1]) == nil)
        #expect(await eventually { there.count == 1 })
        pair.dialled.close()
        pair.dialled.close()
        #expect(await eventually { !here.reasons.isEmpty && !there.reasons.isEmpty })
        #expect(here.reasons == [.closed])
        #expect(there.reasons == [.connectionShut])
        #expect(await pair.dialled.transmitted([1])?.code == .closed)
        #expect(await pair.accepted.transmitted([1])?.code == .connectionShut)
        pair.close()
        #expect(await eventually { pair.directory.socketCount == 0 })
        #expect(here.reasons == [.closed])
        #expect(there.reasons == [.connectionShut])
    }

    /// The kernel reports an error when a peer dies with unread input; nng alone would lose what it hasn't pulled by then.
    @Test(arguments: [1, 50, 3000])
    func lastWordsOfAPeerWithUnreadInput(_ count: Int) async throws {
        let pair = try await RawPair()
        try await pair.connection.send([1, 2, 3])  // never read
        let bytes = (0..<count).flatMap { number in
            RawSocket.message(withUnsafeBytes(of: UInt32(number)) { Array($0) } + Array(repeating: 0, count: 40))
        }
        let gate = ThreadGate()
        let recorder = Recorder()
        recorder.attach(to: pair.connection) { _ in
            // The receiver is slow: everything is in the kernel, and the peer gone, when it looks again.
            gate.pass()
        }
        try await pair.peer.write(bytes)
        pair.peer.close()
        gate.open()
        #expect(await eventually { !recorder.reasons.isEmpty })
        #expect(recorder.count == count)
        #expect(recorder.reasons == [.connectionShut] || recorder.reasons == [.connectionReset])
        #expect(recorder.messagesAfterClose == 0)
        pair.close()
    }

    /// The last bytes, the end and the error come in one event of the poller.
    @Test func lastWordsThatComeTogetherWithTheEnd() async throws {
        for round in 0..<150 {
            let pair = try await RawPair()
            let recorder = Recorder()
            recorder.attach(to: pair.connection)
            #expect(await pair.connection.transmitted([1]) == nil)  // never read
            try await pair.peer.write(RawSocket.message([9]), thenClose: true)
            #expect(await eventually { !recorder.reasons.isEmpty })
            #expect(recorder.messages == [[9]], "round \(round)")
            pair.close()
        }
    }

    @Test func startingWhileMessagesArrive() async throws {
        let expected = (0..<200).map { [UInt8($0), 1, 2, 3] }
        for round in 0..<150 {
            let pair = try await RawPair()
            let recorder = Recorder()
            async let writing: Void = pair.peer.write(expected.map { RawSocket.message($0) })
            for _ in 0..<(round % 40) { await Task.yield() }
            recorder.attach(to: pair.connection)
            try await writing
            #expect(await eventually { recorder.count == expected.count })
            #expect(recorder.messages == expected)
            #expect(!recorder.overlapped)
            pair.close()
        }
    }

    @Test func messagesBeforeStartAreDelivered() async throws {
        let pair = try await Pair()
        for number in 0..<100 { try await pair.dialled.send([UInt8(number)]) }
        let recorder = Recorder()
        recorder.attach(to: pair.accepted)
        #expect(await eventually { recorder.count == 100 })
        #expect(recorder.messages == (0..<100).map { [UInt8($0)] })
        try await pair.dialled.send([200])
        #expect(await eventually { recorder.count == 101 })
        // This side first: the other one's end would be the reason otherwise.
        pair.accepted.close()
        #expect(await eventually { recorder.reasons == [.closed] })
        pair.close()
    }

    @Test func messagesBeforeTheEndAreReceivedAfterIt() async throws {
        let pair = try await Pair()
        for number in 0..<5 { try await pair.dialled.send([UInt8(number)]) }
        pair.dialled.close()
        for number in 0..<5 { #expect(try await pair.accepted.receive() == [UInt8(number)]) }
        for _ in 0..<2 {
            #expect(await code { () async throws(NNGError) in try await pair.accepted.receive() } == .connectionShut)
        }
        // The descriptor is given back without a call of close.
        pair.listener.close()
        #expect(await eventually { pair.directory.socketCount == 0 })
    }

    @Test func startAfterCloseTellsTheReason() async throws {
        let pair = try await Pair()
        pair.dialled.close()
        let recorder = Recorder()
        recorder.attach(to: pair.dialled)
        #expect(await eventually { recorder.reasons == [.closed] })
        pair.close()
    }

    @Test func closingWithinACallbackStopsTheDelivery() async throws {
        let pair = try await Pair()
        for number in 0..<100 { try await pair.dialled.send([UInt8(number)]) }
        let recorder = Recorder()
        recorder.attach(to: pair.accepted) { message in
            if message == [7] { pair.accepted.close() }
        }
        #expect(await eventually { !recorder.reasons.isEmpty })
        #expect(recorder.count == 8)
        #expect(recorder.reasons == [.closed])
        pair.close()
    }

    @Test func aSecondTransmissionIsRefusedNotAborted() async throws {
        let pair = try await Pair(maximumMessageSize: Pair.unholdable)
        // The peer doesn't read: the first transmission stays under way.
        let first = Task.immediate { await pair.dialled.transmitted([UInt8](repeating: 1, count: Pair.unholdable)) }
        #expect(await eventually { pair.dialledIsBusy })
        var received = try await pair.accepted.receive()
        while received == [2] { received = try await pair.accepted.receive() }
        #expect(received.count == Pair.unholdable)
        #expect(await first.value == nil)
    }

    @Test func aSecondReceiveIsRefused() async throws {
        let pair = try await Pair()
        try await withThrowingTaskGroup(of: Result<[UInt8], NNGError>.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do throws(NNGError) { return .success(try await pair.dialled.receive()) } catch { return .failure(error) }
                }
            }
            // Nothing has been sent: only the refused one can be over.
            let refused = try await group.next()
            #expect(throws: NNGError(.busy, operation: "receive", address: pair.directory.url())) { try refused?.get() }
            try await pair.accepted.send([1])
            #expect(try await group.next()?.get() == [1])
        }
    }

    @Test func transmittingFromWithinCallbacks() async throws {
        let pair = try await Pair()
        let recorder = Recorder()
        let here = Outbox(pair.dialled)
        let there = Outbox(pair.accepted)
        recorder.attach(to: pair.dialled) { message in
            if message[0] < 255 { here.send([message[0] + 1]) }
        }
        pair.accepted.start { message in
            there.send(message)
        } onClose: { _ in
        }
        here.send([0])
        #expect(await eventually { recorder.messages.last == [255] })
        #expect(recorder.count == 256)
        pair.close()
    }
}
