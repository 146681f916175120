import ConcurrencySupport
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Requests that no browser sends, and sockets", .timeLimit(minutes: 2))
struct HostileRequestTests {
    private struct Case: Sendable {
        /// The status of the answer.
        var status: Int
        var name: String
        /// The header fields but the name of the host.
        var head: String
        var body: String
        var method: String
        /// Whether the connection is good for another request.
        var stays: Bool

        init(_ status: Int, _ name: String, _ head: String = "", _ body: String = "", method: String = "GET /healthz", stays: Bool = false)
        {
            (self.status, self.name, self.head, self.body, self.method, self.stays) = (status, name, head, body, method, stays)
        }
    }

    private static func fields(_ count: Int, of length: Int) -> String {
        (0..<count).map { "X\($0): \(String(repeating: "a", count: length))\r\n" }.joined()
    }

    private static let change = "Authorization: Bearer \(RunningConsole.token)\r\nContent-Type: application/json\r\n"
    private static let chunked = change + "Transfer-Encoding: chunked\r\n"
    private static let restart = "POST /api/v1/restart"
    private static let chunk = "4000\r\n\(String(repeating: "x", count: 0x4000))\r\n"

    private static let cases = [
        Case(200, "plain", stays: true),
        Case(404, "nothing", method: "GET /nothing", stays: true),
        Case(200, "head", method: "HEAD /", stays: true),
        Case(200, "head of the stream", method: "HEAD /api/v1/stream", stays: true),
        Case(400, "several hosts", "Host: evil\r\n", stays: true),
        Case(405, "another method", method: "DELETE /healthz", stays: true),
        Case(200, "a time that is no number", "X-Prometheus-Scrape-Timeout-Seconds: nan\r\n", method: "GET /metrics", stays: true),
        Case(404, "a zero byte in the path", method: "GET /healthz%00", stays: true),
        Case(200, "the largest head", fields(2, of: 7_800), stays: true),
        Case(200, "the most fields", fields(63, of: 1), stays: true),
        Case(431, "too many fields", fields(64, of: 1), stays: true),
        Case(431, "far too many fields", fields(5_000, of: 1)),
        Case(431, "a field that is too large", fields(1, of: 9_000), stays: true),
        Case(431, "fields that are too large", fields(4, of: 4_300), stays: true),
        Case(431, "a field that is far too large", fields(1, of: 100_000)),
        Case(414, "an address that is too large", method: "GET /\(String(repeating: "a", count: 100_000))"),
        Case(200, "a body that isn't read", "Content-Length: 5\r\n", "words"),
        Case(401, "no token, no body yet", "Content-Type: application/json\r\nContent-Length: 70000\r\n", method: restart),
        Case(400, "no body", change, method: restart, stays: true),
        Case(400, "a body", change + "Content-Length: 2\r\n", "{}", method: restart, stays: true),
        Case(400, "chunks", chunked, "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", method: restart, stays: true),
        Case(413, "a body that is announced", change + "Content-Length: 70000\r\n", method: restart),
        Case(413, "an immense body", change + "Content-Length: 99999999999999999999\r\n", method: restart),
        Case(413, "many chunks", chunked, String(repeating: chunk, count: 5) + "0\r\n\r\n", method: restart, stays: true),
        Case(400, "no chunk", chunked, "zz\r\n", method: restart),
        Case(400, "less than nothing", change + "Content-Length: -1\r\n", method: restart),
        Case(400, "two lengths", change + "Content-Length: 2\r\nContent-Length: 5\r\n", "{}", method: restart),
        Case(400, "a length and chunks", chunked + "Content-Length: 2\r\n", "2\r\n{}\r\n0\r\n\r\n", method: restart),
        Case(400, "another coding", change + "Transfer-Encoding: gzip\r\n", "{}", method: restart),
    ]

    /// Runs a console without a daemon, and kills it.
    private func console(_ listen: String, _ directory: TemporaryDirectory, _ body: (ChildProcess) async throws -> Void) async throws {
        try Files.write(RunningConsole.token + "\n", to: directory.file("token"))
        let options = ["--listen", listen, "--runtime-dir", directory.file("none"), "--token-file", directory.file("token")]
        let console = ProcessSpecification(
            executable: BuiltProgram("coordinator-console").path,
            arguments: options,
            standardOutput: .null,
            standardError: .null
        )
        try await withChild(console, body)
    }

    @Test("Each is answered, and a connection whose rest isn't known is closed; a body that comes slowly is waited for ten seconds")
    func requests() async throws {
        let port = try FreePort.find()
        try await console("127.0.0.1:\(port)", TemporaryDirectory()) { _ in
            try await eventually("it listens") { try? await HTTPExchange.request("GET", "/healthz", port: port).status == 200 }
            let slow = try LoopbackConnection(port)
            slow.send("\(Self.restart) HTTP/1.1\r\nHost: localhost\r\n\(Self.change)Content-Length: 5000\r\n\r\n")
            for request in Self.cases {
                let connection = try LoopbackConnection(port)
                connection.send("\(request.method) HTTP/1.1\r\nHost: localhost\r\n\(request.head)\r\n\(request.body)")
                var text = ""
                try await eventually("\(request.name) is answered") {
                    text += connection.receiveSoFar()
                    return text.contains("\r\n\r\n")
                }
                #expect(text.hasPrefix("HTTP/1.1 \(request.status) "), "\(request.name): \(text)")
                if request.stays {
                    #expect(!connection.isClosed, "\(request.name)")
                    connection.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    #expect(try await connection.receiveAll().contains("coordinator_console_daemon_up 0"), "\(request.name)")
                } else {
                    try await eventually("\(request.name) ends the connection") {
                        _ = connection.receiveSoFar()
                        return connection.isClosed
                    }
                }
            }
            try await eventually("the slow one is closed") {
                slow.send(" ")
                return slow.isClosed
            }
        }
    }

    @Test("A Unix socket is its user's alone, one that a killed console has left is replaced, and one that ends leaves none")
    func unixSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("console.sock")
        for isKilled in [true, false] {
            try await console("unix:\(path)", directory) { console in
                try await eventually("it answers") {
                    try await Programs.shell("curl -s --unix-socket '\(path)' http://localhost/healthz").output == "ok\n"
                }
                #expect(try await Programs.shell("stat -c %a '\(path)'").output == "600\n")
                let end = await console.terminate(by: isKilled ? .kill : .terminate, grace: .patient(.seconds(10)))
                #expect((end == .exited(code: 0)) == !isKilled)
            }
            #expect((access(path, F_OK) == 0) == isKilled)
        }
    }
}
