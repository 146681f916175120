import Glibc
import NNG
import TestSupport
import Testing

@Suite("Byte streams", .serialized, .timeLimit(minutes: 1))
struct ByteStreamTests {
    @Test func bytesArriveInBothDirections() async throws {
        let pair = try await StreamPair()
        try await pair.dialled.send(Array("hello".utf8))
        #expect(try await pair.accepted.receive(upTo: 100) == Array("hello".utf8))
        try await pair.accepted.send([1, 2, 3])
        #expect(try await pair.dialled.receive(upTo: 2) == [1, 2])
        #expect(try await pair.dialled.receive(upTo: 2) == [3])
    }

    @Test func moreThanTheKernelHoldsIsSentWhole() async throws {
        let pair = try await StreamPair()
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }
        async let sending: Void = pair.dialled.send(bytes)
        var received: [UInt8] = []
        while received.count < bytes.count { received += try await pair.accepted.receive(upTo: 100_000) }
        try await sending
        #expect(received == bytes)
    }

    @Test func thePeerIsThisProcess() async throws {
        let pair = try await StreamPair()
        let ours = PeerCredentials(processID: getpid(), userID: geteuid(), groupID: getegid())
        #expect(pair.dialled.peer == ours)
        #expect(pair.accepted.peer == ours)
    }

    @Test func theEndOfThePeerIsToldAfterItsLastBytes() async throws {
        let pair = try await StreamPair()
        // Unread input at the peer makes the kernel report an error along with the end.
        try await pair.accepted.send([9, 9, 9])
        try await pair.dialled.send([1, 2, 3])
        pair.dialled.close()
        #expect(try await pair.accepted.receive(upTo: 10) == [1, 2, 3])
        let end = await code { () async throws(NNGError) in try await pair.accepted.receive(upTo: 10) }
        #expect(end == .connectionReset || end == .connectionShut)
        let sent = await code { () async throws(NNGError) in try await pair.accepted.send([1]) }
        #expect(sent == .connectionShut || sent == .connectionReset)
    }

    @Test func afterClosingEverythingIsClosed() async throws {
        let pair = try await StreamPair()
        pair.dialled.close()
        pair.dialled.close()
        #expect(await code { () async throws(NNGError) in try await pair.dialled.receive(upTo: 1) } == .closed)
        #expect(await code { () async throws(NNGError) in try await pair.dialled.send([1]) } == .closed)
    }

    @Test func aLimitBelowOneIsRefused() async throws {
        let pair = try await StreamPair()
        #expect(await code { () async throws(NNGError) in try await pair.dialled.receive(upTo: 0) } == .invalidArgument)
    }

    @Test func nobodyListening() async throws {
        let directory = try TemporaryDirectory()
        let error = await #expect(throws: NNGError.self) { try await ByteStream.dial(directory.url("none")) }
        #expect(error?.code == .connectionRefused)
        #expect(error?.description.contains("dial \(directory.url("none"))") == true)
        #expect(error?.description.contains("no process listens there") == true)
    }

    @Test func aFullBacklogIsWaitedFor() async throws {
        let directory = try TemporaryDirectory()
        let listener = try RawSocket(listeningAt: directory.file("s"), backlog: 0)
        let first = try await ByteStream.dial(directory.url())
        let timedOut = await code { () async throws(NNGError) in try await ByteStream.dial(directory.url(), timeout: .milliseconds(50)) }
        #expect(timedOut == .timedOut)
        async let second = ByteStream.dial(directory.url(), timeout: .seconds(10))
        let accepted = [try await listener.accept(), try await listener.accept()]
        #expect(accepted.count == 2)
        try await second.close()
        first.close()
    }

    @Test(arguments: ["", "ipc://", "nonsense", "carrier-pigeon:///x", "ipc:///tmp/a\u{0}b"])
    func addressesThatAreNone(_ url: String) async {
        #expect(throws: NNGError.self) { try StreamListener(url) }
        await #expect(throws: NNGError.self) { try await ByteStream.dial(url) }
    }

    @Test func theLastReferenceCloses() async throws {
        let directory = try TemporaryDirectory()
        let listener = try RawSocket(listeningAt: directory.file("s"))
        _ = try await ByteStream.dial(directory.url())
        #expect(try await listener.accept().read(1) == [])
    }
}
