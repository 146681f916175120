import ConcurrencySupport
import Glibc
import NNG
import TestSupport
import Testing

/// Closing while operations are in flight, in every order, and that nothing stays behind.
@Suite("Closing", .serialized, .timeLimit(minutes: 1))
struct ClosingTests {
    @Test func operationsInFlightEnd() async throws {
        let streams = try await StreamPair()
        let receiving = Task { await code { () async throws(NNGError) in try await streams.dialled.receive(upTo: 1) } }
        let accepting = Task { await code { () async throws(NNGError) in try await streams.listener.accept() } }
        let sending = Task {
            await code { () async throws(NNGError) in try await streams.accepted.send([UInt8](repeating: 0, count: Pair.unholdable)) }
        }
        for _ in 0..<20 { await Task.yield() }
        streams.accepted.close()
        streams.dialled.close()
        streams.listener.close()
        #expect(await sending.value == .closed)
        #expect([.closed, .connectionShut, .connectionReset, nil].contains(await receiving.value))
        #expect(await accepting.value == .closed)

        let pair = try await Pair(maximumMessageSize: Pair.unholdable)
        let waiting = Task { await code { () async throws(NNGError) in try await pair.accepted.receive() } }
        // The other end doesn't receive, so the send stays under way.
        let transmitting = Task { await pair.accepted.transmitted([UInt8](repeating: 0, count: Pair.unholdable))?.code }
        for _ in 0..<20 { await Task.yield() }
        pair.accepted.close()
        #expect(await transmitting.value == .closed)
        #expect(await waiting.value == .closed)
    }

    /// The callbacks may own the connection itself: its end must not come under a lock.
    @Test func callbacksMayOwnTheConnection() async throws {
        let pair = try await Pair()
        let directory = pair.directory
        let ended = Lock(false)
        do {
            async let dialling = PairConnection.dial(directory.url())
            let accepted = try await PairConnection.negotiate(pair.listener.accept())
            accepted.start { _ in
                _ = accepted
            } onClose: { _ in
                ended.withLock { $0 = true }
            }
            try await dialling.close()
        }
        #expect(await eventually { ended.withLock { $0 } })
        pair.close()
        #expect(await eventually { directory.socketCount == 0 })
    }

    /// An operation that nng is given after the stream was closed never ends by itself (nng 1.5.2); ours must.
    @Test func closingRacesWithSubmitting() async throws {
        for round in 0..<400 {
            let pair = try await StreamPair()
            let tasks = [
                Task { _ = await code { () async throws(NNGError) in try await pair.dialled.receive(upTo: 1) } },
                Task { _ = await code { () async throws(NNGError) in try await pair.listener.accept() } },
                Task {
                    _ = await code { () async throws(NNGError) in try await pair.accepted.send([UInt8](repeating: 0, count: 500_000)) }
                },
                Task { _ = await code { () async throws(NNGError) in try await ByteStream.dial(pair.directory.url()) } },
            ]
            for _ in 0..<(round % 5) { await Task.yield() }
            pair.close()
            for task in tasks { await task.value }
        }
    }

    @Test func callbacksEndExactlyOnceHoweverTheEndsClose() async throws {
        for round in 0..<300 {
            let pair = try await Pair()
            let here = Recorder()
            let there = Recorder()
            here.attach(to: pair.dialled) { message in pair.dialled.transmit(message) { _ in } }
            there.attach(to: pair.accepted) { message in
                if round % 3 == 0, message[0] == 5 { pair.accepted.close() }
                pair.accepted.transmit([message[0] &+ 1]) { _ in }
            }
            pair.dialled.transmit([UInt8(truncatingIfNeeded: round)]) { _ in }
            for _ in 0..<(round % 11) { await Task.yield() }
            if round % 2 == 0 { pair.dialled.close() } else { pair.accepted.close() }
            let ended = await eventually { !here.reasons.isEmpty && !there.reasons.isEmpty }
            #expect(ended)
            #expect(here.reasons.count == 1 && there.reasons.count == 1)
            #expect(!here.overlapped && !there.overlapped)
            #expect(here.messagesAfterClose == 0 && there.messagesAfterClose == 0)
            pair.listener.close()
            if !ended { break }
        }
    }

    @Test func fiveHundredCyclesLeaveNothing() async throws {
        let directory = try TemporaryDirectory()
        for round in 0..<500 {
            let listener = try StreamListener(directory.url())
            async let dialling = PairConnection.dial(directory.url())
            let accepted = try await PairConnection.negotiate(listener.accept())
            let dialled = try await dialling
            if round % 3 == 0 { accepted.start(onMessage: { _ in }, onClose: { _ in }) }
            if round % 2 == 0 { dialled.close() }
            if round % 5 == 0 { accepted.close() }
            listener.close()
            // What wasn't closed is closed by the end of its last reference.
        }
        #expect(await eventually { directory.socketCount == 0 })
        #expect(directory.entries == [])
    }

    @Test func theLastReferenceClosesAStartedConnection() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let recorder = Recorder()
        async let dialling = PairConnection.dial(directory.url())
        do {
            let accepted = try await PairConnection.negotiate(listener.accept())
            recorder.attach(to: accepted)
        }
        #expect(await eventually { recorder.reasons == [.closed] })
        let dialled = try await dialling
        #expect(await code { () async throws(NNGError) in try await dialled.receive() } == .connectionShut)
        listener.close()
    }

    /// nng's poller (1.5.2) spins on a stream whose peer has gone and that has no pending read.
    @Test func anIdleConnectionWhosePeerHasGoneCostsNoTime() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        async let negotiated = PairConnection.negotiate(listener.accept())
        let peer = try RawSocket(directory.file("s"))
        try await peer.write(RawSocket.greeting)
        let connection = try await negotiated
        peer.close()
        // The connection notices this by itself: no receive is under way.
        listener.close()
        #expect(await eventually { directory.socketCount == 0 })
        #expect(await code { () async throws(NNGError) in try await connection.receive() } == .connectionShut)
    }

    @Test func writingToAPeerThatHasGoneRaisesNoSignal() async throws {
        // The default action of SIGPIPE would end this process.
        let pair = try await StreamPair()
        pair.accepted.close()
        var last: NNGError.Code?
        for _ in 0..<100 where last == nil {
            last = await code { () async throws(NNGError) in try await pair.dialled.send([1]) }
        }
        #expect(last == .connectionShut || last == .connectionReset)
    }
}
