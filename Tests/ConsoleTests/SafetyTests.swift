import Testing
import WireProtocol

@testable import CoordinatorConsole

@Suite("Addresses, tokens and texts of the console")
struct SafetyTests {
    @Test("Only the loopback device and Unix sockets are addresses")
    func addresses() throws {
        #expect(try ListenAddress("127.0.0.1:7077") == .loopback(host: "127.0.0.1", port: 7077))
        #expect(try ListenAddress("[::1]:0") == .loopback(host: "::1", port: 0))
        #expect(try ListenAddress("unix:/run/c.sock") == .unix(path: "/run/c.sock"))
        for text in ["0.0.0.0:80", "192.168.1.1:80", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "unix:relative", ":80", ""] {
            #expect(throws: ListenAddress.Problem.self, "\(text)") { try ListenAddress(text) }
        }
    }

    @Test("Tokens are equal when all of them is")
    func comparison() {
        let token = Array("Bearer abc".utf8)
        #expect(RequestGuard.areEqual(token, token))
        for other in ["", "B", "Bearer abd", "Bearer abcB", "Bearer ab", "Xearer abc"] {
            #expect(!RequestGuard.areEqual(Array(other.utf8), token))
        }
    }

    @Test("Labels and numbers are written as Prometheus reads them")
    func prometheus() {
        var text = PrometheusText()
        let family = MetricFamily("a_total", .counter, "Line\nbreak \\ and")
        text.begin(family)
        text.add(family, 3, [("path", "/a\"b\\c\nd")])
        text.add(family, .infinity)
        text.add(family, 0.5)
        #expect(
            text.text
                == "# HELP a_total Line\\nbreak \\\\ and\n# TYPE a_total counter\na_total{path=\"/a\\\"b\\\\c\\nd\"} 3\na_total +Inf\na_total 0.5\n"
        )
    }
}
