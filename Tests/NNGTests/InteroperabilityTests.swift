import Glibc
import NNG
import Testing

/// The other end is nng itself: its pair0 socket in this process, and its command line tool.
@Suite("Interoperability", .serialized, .timeLimit(.minutes(1)))
struct InteroperabilityTests {
    private static let sizes = [0, 1, 100, 65_527, 65_528, 65_536, 300_000]

    @Test func nngsSocketDialsUs() async throws {
        let directory = try TemporaryDirectory()
        let listener = try StreamListener(directory.url())
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
        let directory = try TemporaryDirectory()
        let listener = try StreamListener(directory.url())
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
        let directory = try TemporaryDirectory()
        let listener = try StreamListener(directory.url())
        let tool = try Tool(
            Self.nngcat!,
            ["--pair0", "--dial", directory.url(), "--data", "from nngcat", "--raw", "--recv-timeout", "20"],
            output: directory.file("out")
        )
        defer { tool.end() }
        let connection = try await PairConnection.negotiate(listener.accept())
        #expect(connection.peer?.processID == tool.processID)
        #expect(try await connection.receive() == Array("from nngcat".utf8))
        try await connection.send(Array("to nngcat".utf8))
        #expect(await eventually { tool.output == "to nngcat" })
        listener.close()
    }

    @Test(.enabled(if: nngcat != nil, "nngcat is not installed (Debian: nng-utils)"))
    func weDialNngcat() async throws {
        let directory = try TemporaryDirectory()
        let tool = try Tool(
            Self.nngcat!,
            ["--pair0", "--listen", directory.url(), "--raw", "--recv-timeout", "20"],
            output: directory.file("out")
        )
        defer { tool.end() }
        #expect(await eventually { directory.entries.contains("s") })
        var connection: PairConnection?
        // Between its bind and its listen, nobody listens there.
        let deadline = ContinuousClock.now + .seconds(10)
        while connection == nil, ContinuousClock.now < deadline { connection = try? await PairConnection.dial(directory.url()) }
        try await connection?.send(Array("hello, nngcat".utf8))
        #expect(await eventually { tool.output == "hello, nngcat" })
        connection?.close()
    }
}

/// A program started by a test, with its standard output in a file.
private final class Tool: Sendable {
    let processID: pid_t
    private let file: String

    init(_ path: String, _ arguments: [String], output: String) throws {
        file = output
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT, 0o600)
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var pid = pid_t()
        let result = posix_spawn(&pid, path, &actions, nil, &argv, environ)
        guard result == 0 else {
            errno = result
            throw SystemCallError("posix_spawn")
        }
        processID = pid
    }

    var output: String {
        guard let stream = fopen(file, "r") else { return "" }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 1000)
        let count = fread(&bytes, 1, bytes.count, stream)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func end() {
        kill(processID, SIGKILL)
        var status: Int32 = 0
        waitpid(processID, &status, 0)
    }
}
