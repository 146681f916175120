import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

@Suite("Questions to servers on this machine")
struct LoopbackProbeTests {
    @Test(
        "A status from 200 to 399 is an answer as it should be",
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", nil), ("HTTP/1.0 302 Found\r\n", nil), ("HTTP/1.1 503 Busy\r\n\r\n", "HTTP status 503"),
            ("SSH-2.0-x\r\n", "the answer isn't HTTP"), ("", "the answer isn't HTTP"),
        ] as [(String, String?)]
    )
    func statuses(answer: String, problem: String?) async throws {
        let server = try SmallServer(answer)
        #expect(await LoopbackProbe.problem(port: server.port, path: "/health", within: .seconds(10)) == problem)
        #expect(server.request?.hasPrefix("GET /health HTTP/1.0\r\n") == true)
        #expect(await LoopbackProbe.problem(port: server.port, path: nil, within: .seconds(10)) == nil)
    }

    @Test("A server that is silent, and one that isn't there")
    func failures() async throws {
        let silent = try SmallServer(nil)
        #expect(await LoopbackProbe.problem(port: silent.port, path: "/", within: .milliseconds(100)) == "no answer in time")
        let port = silent.port
        silent.close()
        #expect(await LoopbackProbe.problem(port: port, path: "/", within: .seconds(10)) == "Connection refused")
    }
}
