import Glibc
import NNG
import TestSupport
import Testing

/// Tests of connections whose peers break the protocol or the limits.
@Suite("Refusals", .serialized, .timeLimit(minutes: 1))
struct RefusalTests {
    @Test func fourGibibytesAreRefusedBeforeTheyAreAllocated() async throws {
        let against = try await RawPair()
        let recorder = Recorder()
        recorder.attach(to: against.connection)
        let before = addressSpace()
        try await against.peer.write(RawSocket.message([], announcing: 4 << 30))
        #expect(await eventually { !recorder.reasons.isEmpty })
        #expect(recorder.reasons == [.messageTooLarge])
        #expect(addressSpace() - before < 3 << 30)
        // The connection is closed, not left half open.
        #expect(try await against.peer.read(1) == [])
    }

    @Test(arguments: [UInt64.max, UInt64(Int64.max), UInt64(Int64.max) + 1, 1 << 63])
    func lengthsThatOverflow(_ length: UInt64) async throws {
        let against = try await RawPair()
        try await against.peer.write(RawSocket.message([], announcing: length))
        #expect(await code { () async throws(NNGError) in try await against.connection.receive() } == .messageTooLarge)
    }

    @Test(arguments: [0, 1, 1000, 65_527, 65_528, 100_000])
    func theLimitItselfIsAllowedAndOneMoreIsNot(_ limit: Int) async throws {
        let against = try await RawPair(maximumMessageSize: limit)
        let largest = [UInt8](repeating: 3, count: limit)
        try await against.peer.write(RawSocket.message(largest))
        #expect(try await against.connection.receive() == largest)
        // What came whole before the offence is still delivered.
        try await against.peer.write(RawSocket.message(largest) + RawSocket.message([], announcing: UInt64(limit) + 1))
        #expect(try await against.connection.receive() == largest)
        #expect(await code { () async throws(NNGError) in try await against.connection.receive() } == .messageTooLarge)
        #expect(await against.connection.transmitted([])?.code == .closed)
    }

    @Test func whatIsTooLargeIsNotSent() async throws {
        let pair = try await Pair(maximumMessageSize: 100)
        #expect(
            await code { () async throws(NNGError) in try await pair.dialled.send([UInt8](repeating: 0, count: 101)) } == .messageTooLarge
        )
        try await pair.dialled.send([UInt8](repeating: 0, count: 100))
        #expect(try await pair.accepted.receive().count == 100)
    }

    @Test func aMessageOfAnotherType() async throws {
        let against = try await RawPair()
        let recorder = Recorder()
        recorder.attach(to: against.connection)
        try await against.peer.write(RawSocket.message([5]) + [2])
        #expect(await eventually { !recorder.reasons.isEmpty })
        #expect(recorder.messages == [[5]])
        #expect(recorder.reasons == [.protocolError])
        against.close()
    }

    @Test(arguments: [
        Array("GET / HTTP/1.1\r\n\r\n".utf8),
        [0, 0x53, 0x50, 0, 0, 0x11, 0, 0],  // pair, version 1
        [0, 0x53, 0x50, 1, 0, 0x10, 0, 0],  // another version of SP
        [0, 0x53, 0x50, 0, 0, 0x10, 0, 1],
        [1],
    ])
    func greetingsOfAnotherProtocol(_ greeting: [UInt8]) async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let accepting = Task { try await PairConnection.negotiate(listener.accept()) }
        let peer = try RawSocket(directory.file("s"))
        try await peer.write(greeting)
        let error = await #expect(throws: NNGError.self) { try await accepting.value }
        #expect(error?.code == .protocolError)
        #expect(error?.operation == "negotiate")
        _ = try? await peer.read(8)
        #expect(((try? await peer.read(1)) ?? []) == [])
        listener.close()
        peer.close()
        #expect(await eventually { directory.socketCount == 0 })
    }

    @Test func aPeerThatSaysNothing() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        async let negotiated = code { () async throws(NNGError) in
            try await PairConnection.negotiate(listener.accept(), timeout: .milliseconds(30))
        }
        let peer = try RawSocket(directory.file("s"))
        #expect(await negotiated == .timedOut)
        #expect(try await peer.read(9) == RawSocket.greeting)
        listener.close()
    }

    @Test func aPeerThatGreetsByteByByte() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        async let negotiated = PairConnection.negotiate(listener.accept())
        let peer = try RawSocket(directory.file("s"))
        for byte in RawSocket.greeting + RawSocket.message([1, 2]) {
            try await peer.write([byte])
            await Task.yield()
        }
        #expect(try await negotiated.receive() == [1, 2])
        listener.close()
    }

    @Test(arguments: [1, 8, 9, 12])
    func aPeerThatEndsWithinAMessage(_ length: Int) async throws {
        let against = try await RawPair()
        try await against.peer.write(Array(RawSocket.message([1, 2, 3, 4, 5]).prefix(length)))
        against.peer.close()
        #expect(await code { () async throws(NNGError) in try await against.connection.receive() } == .connectionShut)
    }

    /// VmSize of proc(5), in bytes.
    private func addressSpace() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        return Int(strtol(line, nil, 10)) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
