import Glibc
import NNG
import Processes
import TestSupport
import Testing

/// The other end is nng itself: its pair0 socket in this process, and its command line tool.
@Suite("Interoperability", .serialized, .timeLimit(minutes: 1))
struct InteroperabilityTests {
    private static let sizes = [0, 1, 100, 65_527, 65_528, 65_536, 300_000]

    @Test func nngsSocketDialsUs() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let socket = try PairSocket()
        try socket.dial(directory.url())
        let connection = try await PairConnection.negotiate(listener.accept())
        try await exchange(connection, socket)
        #expect(connection.peer?.processID == getpid())
        connection.close()
        listener.close()
    }

    @Test func weDialNngsSocket() async throws {
        let directory = try TemporaryDirectory()
        let socket = try PairSocket()
        try socket.listen(directory.url())
        let connection = try await PairConnection.dial(directory.url())
        try await exchange(connection, socket)
        connection.close()
    }

    private func exchange(_ connection: PairConnection, _ socket: PairSocket) async throws {
        for size in Self.sizes {
            let body = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
            // nng's socket takes the message in a thread of its own, so this does not wait for `receive` below.
            let sending = Task { try await connection.send(body) }
            #expect(try await socket.receive() == body)
            try await sending.value
            let receiving = Task { try await connection.receive() }
            try await socket.send(body)
            #expect(try await receiving.value == body)
        }
    }

    @Test func theEndOfNngsSocket() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        var socket: PairSocket? = try PairSocket()
        try socket?.dial(directory.url())
        let connection = try await PairConnection.negotiate(listener.accept())
        let recorder = Recorder()
        recorder.attach(to: connection)
        try await socket?.send([7])
        #expect(await eventually { recorder.count == 1 })
        socket = nil
        #expect(await eventually { recorder.reasons == [.connectionShut] })
        listener.close()
    }

    private static let nngcat = ["/usr/bin/nngcat", "/usr/local/bin/nngcat"].first { (path: String) in access(path, X_OK) == 0 }

    @Test(.enabled(if: nngcat != nil, "nngcat is not installed (Debian: nng-utils)"))
    func nngcatDialsUs() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let output = Transcript()
        let tool = Self.tool(["--dial", directory.url(), "--data", "from nngcat"], output)
        try await withChild(tool) { tool in
            let connection = try await PairConnection.negotiate(listener.accept())
            #expect(connection.peer?.processID == tool.identity.processID)
            #expect(try await connection.receive() == Array("from nngcat".utf8))
            try await connection.send(Array("to nngcat".utf8))
            #expect(await eventually { output.text == "to nngcat" })
        }
        listener.close()
    }

    @Test(.enabled(if: nngcat != nil, "nngcat is not installed (Debian: nng-utils)"))
    func weDialNngcat() async throws {
        let directory = try TemporaryDirectory()
        let output = Transcript()
        try await withChild(Self.tool(["--listen", directory.url()], output)) { _ in
            // Between its bind and its listen, the address has no listener.
            let connection = try await dialed(directory.url())
            try await connection.send(Array("hello, nngcat".utf8))
            #expect(await eventually { output.text == "hello, nngcat" })
            connection.close()
        }
    }

    private static func tool(_ arguments: [String], _ output: Transcript) -> ProcessSpecification {
        ProcessSpecification(
            executable: nngcat ?? "nngcat",
            arguments: ["--pair0", "--raw", "--recv-timeout", "20"] + arguments,
            standardOutput: output.destination
        )
    }

    private func dialed(_ url: String) async throws -> PairConnection {
        var connection: PairConnection?
        try await eventually("somebody listens at \(url)") {
            connection = try? await PairConnection.dial(url)
            return connection != nil
        }
        return try #require(connection)
    }
}
