import Glibc
import NNG
import TestSupport
import Testing

@Suite("Stream listeners", .serialized, .timeLimit(minutes: 1))
struct StreamListenerTests {
    @Test(arguments: [(nil, 0o600), (UInt32(0o660), 0o660)])
    func permissionsOfTheSocketFile(_ given: UInt32?, _ expected: Int) throws {
        let directory = try TemporaryDirectory()
        let listener = if let given { try StreamListener(directory.url(), permissions: given) } else { try StreamListener(directory.url()) }
        var status = stat()
        #expect(stat(directory.file("s"), &status) == 0)
        #expect(Int(status.st_mode) & 0o7777 == expected)
        listener.close()
    }

    @Test func closingRemovesTheSocketFile() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        #expect(directory.entries == ["s"])
        listener.close()
        listener.close()
        #expect(directory.entries == [])
        #expect(await code { () async throws(NNGError) in try await listener.accept() } == .closed)
    }

    @Test("Peers by the hundred are connected before any of them is accepted")
    func backlog() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let url = directory.url()
        try await withThrowingTaskGroup(of: ByteStream.self) { group in
            for _ in 0..<300 { group.addTask { try await ByteStream.dial(url, timeout: .seconds(20)) } }
            for try await stream in group { stream.close() }
        }
        listener.close()
    }

    @Test func twoListenersAtOnePlace() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let error = #expect(throws: NNGError.self) { try StreamListener(directory.url()) }
        #expect(error?.code == .addressInUse)
        #expect(error?.description.contains("another process listens there") == true)
        // The attempt was a connection that closed at once; the listener is still good.
        async let stream = ByteStream.dial(directory.url())
        try await listener.accept().close()
        try await listener.accept().close()
        try await stream.close()
        listener.close()
    }

    @Test func aSocketFileOfADeadListenerIsReplaced() async throws {
        let directory = try TemporaryDirectory()
        let former = try RawSocket(listeningAt: directory.file("s"))
        // A process that another test is just starting may have a copy of the descriptor: the socket itself has to end.
        #expect(shutdown(former.descriptor, Int32(SHUT_RDWR)) == 0)
        former.close()
        let listener = try StreamListener(directory.url())
        async let stream = ByteStream.dial(directory.url())
        try await listener.accept().close()
        try await stream.close()
        listener.close()
    }

    @Test func aPathThatIsTooLong() async throws {
        let directory = try TemporaryDirectory()
        func url(_ length: Int) -> String {
            directory.url(String(repeating: "p", count: length - directory.path.utf8.count - 1))
        }
        let longest = try StreamListener(url(107))
        try await ByteStream.dial(url(107)).close()
        longest.close()
        let error = #expect(throws: NNGError.self) { try StreamListener(url(108)) }
        #expect(error?.code == .addressInvalid)
        #expect(error?.description.contains("108 bytes") == true)
        #expect(await code { () async throws(NNGError) in try await ByteStream.dial(url(108)) } == .addressInvalid)
    }

    @Test func aDirectoryThatIsMissing() async throws {
        let directory = try TemporaryDirectory()
        #expect(throws: NNGError.self) { try StreamListener(directory.url("none/s")) }
    }

    @Test func peersThatConnectAndGoAtOnceDoNoHarm() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let serving = Task {
            var failures = 0
            while true {
                let stream = try await listener.accept()
                do {
                    let connection = try await PairConnection.negotiate(stream)
                    try await connection.send(connection.receive())
                    connection.close()
                    return failures
                } catch {
                    failures += 1
                }
            }
        }
        for round in 0..<200 {
            let peer = try RawSocket(directory.file("s"))
            // Some say a little first.
            if round % 3 == 1 { try? await peer.write([0]) }
            if round % 3 == 2 { try? await peer.write(Array(RawSocket.greeting)) }
        }
        let good = try await PairConnection.dial(directory.url())
        try await good.send([42])
        #expect(try await good.receive() == [42])
        good.close()
        #expect(try await serving.value == 200)
        listener.close()
        #expect(await eventually { directory.socketCount == 0 })
    }
}
