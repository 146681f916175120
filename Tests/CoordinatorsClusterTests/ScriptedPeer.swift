import ConcurrencySupport
import Glibc
import Testing

/// A server on the loopback device that does with each connection what the test says.
///
/// Its scripts block, each on a thread of its own, until the client closes or the peer is let go.
final class ScriptedPeer: Sendable {
    /// A connection, as a script sees it.
    final class Connection: Sendable {
        /// Its number, from zero.
        let number: Int
        fileprivate let descriptor: Int32

        fileprivate init(number: Int, descriptor: Int32) { (self.number, self.descriptor) = (number, descriptor) }

        deinit { Glibc.close(descriptor) }

        /// Waits for a whole request, and returns it; `nil` when the client has closed.
        func request() -> String? {
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                if let blank = text.firstRange(of: "\r\n\r\n") {
                    let lines = text[..<blank.lowerBound].split(separator: "\r\n")
                    let length = lines.first { $0.lowercased().hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst(16)) }
                    if text[blank.upperBound...].utf8.count >= length ?? 0 { return text }
                }
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return nil }
                text += String(decoding: buffer[..<count], as: UTF8.self)
            }
        }

        /// Sends all of it, waiting as long as the client reads too little.
        ///
        /// - Returns: False when the client has closed.
        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }

        @discardableResult
        func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        /// Answers with a body, after which the connection can be used again.
        func answer(_ body: String, status: String = "200 OK") {
            send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }

        /// Begins an answer in chunks.
        func beginAnswer() { send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") }

        @discardableResult
        func send(chunk: [UInt8]) -> Bool { send(Array((String(chunk.count, radix: 16) + "\r\n").utf8) + chunk + Array("\r\n".utf8)) }

        /// Waits until the client has closed.
        func waitForEnd() {
            var byte: UInt8 = 0
            while recv(descriptor, &byte, 1, 0) > 0 {}
        }
    }

    /// What the threads and this object share; the threads don't keep this object.
    private final class Shared: Sendable {
        struct State {
            var connections: [Int32] = []
            var ended = 0
            var isClosed = false
        }

        let state = Lock(State())
    }

    private let shared = Shared()
    private let listener: Int32
    let port: UInt16

    /// The number of connections that there have been.
    var connectionCount: Int { shared.state.withLock { $0.connections.count } }

    /// The number of scripts that have come to their end.
    var endedCount: Int { shared.state.withLock { $0.ended } }

    init(_ script: @escaping @Sendable (Connection) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // Unsafe: the calls take all kinds of addresses by one pointer.
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) + listen(listener, 64) + getsockname(listener, pointer, &size)
            }
        }
        try #require(status == 0, "no server on the loopback device")
        port = UInt16(bigEndian: address.sin_port)
        let shared = shared
        let isServed = DetachedThread.run {
            while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
                let number = shared.state.withLock { state -> Int? in
                    if !state.isClosed { state.connections.append(descriptor) }
                    return state.isClosed ? nil : state.connections.count - 1
                }
                guard let number else {
                    close(descriptor)
                    break
                }
                let connection = Connection(number: number, descriptor: dup(descriptor))
                let isRunning = DetachedThread.run {
                    script(connection)
                    shutdown(connection.descriptor, Int32(SHUT_RDWR))
                    shared.state.withLock { $0.ended += 1 }
                }
                if !isRunning { shutdown(descriptor, Int32(SHUT_RDWR)) }
            }
            close(listener)
        }
        try #require(isServed, "no thread for the server")
    }

    deinit {
        let connections = shared.state.withLock { state in
            state.isClosed = true
            return state.connections
        }
        // Scripts that wait for the client go on.
        for descriptor in connections {
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
        shutdown(listener, Int32(SHUT_RDWR))
    }
}
