import ConcurrencySupport
import Control
import Glibc
import TestSupport
import Testing
import WireProtocol

/// One request and its answer, over a connection of their own.
enum HTTPExchange {
    struct Answer: Sendable {
        var status: Int
        var head: String
        var body: String

        var json: JSONValue {
            get throws { try ControlJSON.parse(Array(body.utf8)) }
        }
    }

    static func request(
        _ method: String,
        _ path: String,
        port: UInt16,
        headers: [String: String] = [:],
        body: String? = nil
    ) async throws -> Answer {
        var all = ["Host": "127.0.0.1:\(port)", "Connection": "close"].merging(headers) { $1 }
        if let body { all["Content-Length"] = "\(body.utf8.count)" }
        let head = "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n"
        let connection = try LoopbackConnection(port)
        connection.send(head + (body ?? ""))
        let text = try await connection.receiveAll()
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let status = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }, "no answer: \(text.prefix(200))")
        return Answer(status: status, head: String(parts[0]), body: parts.count > 1 ? String(parts[1]) : "")
    }
}

/// A connection to a port of the loopback device.
final class LoopbackConnection: Sendable {
    struct Refusal: Error {}

    private let descriptor: Int32

    init(_ port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let descriptor = self.descriptor
        // Unsafe: the call takes all kinds of addresses by one pointer.
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard status == 0 else { throw Refusal() }
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Whether the other end has closed.
    var isClosed: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK))
        // What was sent after the end has the other end refuse it.
        return count == 0 || (count < 0 && errno == ECONNRESET)
    }

    /// Returns what has come so far.
    func receiveSoFar() -> String {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return text
    }

    /// Returns all that comes until the other end closes.
    func receiveAll() async throws -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        try await eventually("the answer is whole") {
            while true {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return count == 0 || errno != EAGAIN }
                bytes += buffer[..<count]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
