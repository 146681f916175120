import Glibc
import Processes
import TestSupport
import Testing

@testable import Control

/// A process of another user at the control socket.
@Suite(
    "Another user at the control socket",
    .enabled(if: geteuid() == 0 && access("/usr/bin/python3", X_OK) == 0, "only root can become another user; needs /usr/bin/python3"),
    .timeLimit(minutes: 1)
)
struct AnotherUserTests {
    /// Asks for a shutdown, and prints the answer.
    private static let script = """
        import socket, struct, sys
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(10)
        try:
            connection.connect(sys.argv[1])
            connection.sendall(bytes.fromhex("0053500000100000"))
            request = b'{"v":1,"id":1,"op":"shutdown"}'
            try:
                connection.sendall(b"\\x01" + struct.pack(">Q", len(request)) + request)
            except BrokenPipeError:
                pass  # It has been refused already, and the refusal can be read.
            stream = connection.makefile("rb")
            stream.read(8)
            print(stream.read(struct.unpack(">BQ", stream.read(9))[1]).decode())
        except OSError as error:
            print(type(error).__name__)
        """

    @Test("Another user can't reach the socket, and one who can is refused by the kernel's word, whatever the modes of the files")
    func refused() async throws {
        let handler = FakeHandler()
        // The server would put the modes right.
        try await withServer(handler, limiting: { $0.socketCheckInterval = .seconds(3600) }) { directory, _ in
            #expect(try await Self.answer(at: directory) == "PermissionError\n")
            let parent = String(directory.path.dropLast("/run".count))
            for path in [parent, directory.path] { chmod(path, 0o711) }
            #expect(try await Self.answer(at: directory) == "PermissionError\n", "the socket's own mode")
            chmod(directory.controlSocket, 0o666)
            let refusal = try await Self.answer(at: directory)
            #expect(refusal.contains("user 65534 may not operate this daemon"), "\(refusal)")
            try await ControlClient.connect(runtimeDirectory: directory).ping()
        }
        #expect(handler.operations.map(\.name) == ["ping"])
    }

    private static func answer(at directory: RuntimeDirectory) async throws -> String {
        let output = Transcript()
        let arguments = ["--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", script, directory.controlSocket]
        let specification = ProcessSpecification(
            executable: "/usr/bin/setpriv",
            arguments: arguments,
            workingDirectory: "/",
            standardOutput: output.destination
        )
        _ = try await withChild(specification) { await $0.waitForExit() }
        return output.text
    }
}
