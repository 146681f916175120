import ConcurrencySupport
import Glibc
public import Testing

/// A connection to a Unix socket, or to a port of this machine, over which a test sends any bytes.
public final class RawSocket: Sendable {
    /// The bytes that open a conversation in SP's pair protocol, version 0.
    public static let greeting: [UInt8] = [0, 0x53, 0x50, 0, 0, 0x10, 0, 0]

    /// A call that the kernel has refused, as when nothing listens at the path.
    public struct Refusal: Error, CustomStringConvertible {
        public let description: String

        init(_ call: String) { description = "\(call): \(String(cString: strerror(errno)))" }
    }

    public let descriptor: Int32
    private let hasEnded = Lock(false)

    /// Connects; a full backlog is waited for.
    ///
    /// - Throws: ``Refusal``.
    public convenience init(_ path: String, _ what: String = "") throws {
        try self.init(AF_UNIX, "connection \(what) to \(path)") { descriptor in Self.with(path) { connect(descriptor, $0, $1) } }
    }

    /// Connects to a port of 127.0.0.1; a full backlog is waited for.
    ///
    /// - Parameter source: The address of this machine from which it connects.
    /// - Throws: ``Refusal``.
    public convenience init(port: UInt16, from source: String = "127.0.0.1") throws {
        try self.init(AF_INET, "connection to port \(port)") { descriptor in
            guard Self.with(0, source, { bind(descriptor, $0, $1) }) == 0 else { return -1 }
            return Self.with(port) { connect(descriptor, $0, $1) }
        }
    }

    /// Listens at a path.
    ///
    /// - Throws: ``Refusal``.
    public convenience init(listeningAt path: String, backlog: Int32 = 128) throws {
        try self.init(AF_UNIX, "listening at \(path)") { descriptor in
            Self.with(path) { bind(descriptor, $0, $1) == 0 ? listen(descriptor, backlog) : -1 }
        }
    }

    private convenience init(_ family: Int32, _ what: String, _ call: (Int32) -> Int32) throws {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        self.init(descriptor)
        if call(descriptor) != 0 { throw Refusal(what) }
        limitWaiting()
    }

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    /// Closes this end.
    public func close() {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { _ = Glibc.close(descriptor) }
    }

    /// No test hangs because a peer says nothing.
    private func limitWaiting() {
        var limit = timeval(tv_sec: 50, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    private static func with(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Unsafe: the path is a fixed array of the C structure, and the kernel takes the address of any family.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }

    private static func with(_ port: UInt16, _ host: String = "127.0.0.1", _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        // Unsafe: the kernel takes the address of any family.
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    /// Returns a message of the protocol with a body, and with a length that may be another.
    public static func message(_ body: [UInt8], announcing length: UInt64? = nil) -> [UInt8] {
        [1] + withUnsafeBytes(of: (length ?? UInt64(body.count)).bigEndian) { Array($0) } + body
    }

    /// Accepts a connection at a socket that listens.
    public func accept() async throws -> RawSocket {
        try await blocking {
            let accepted = Glibc.accept(self.descriptor, nil, nil)
            guard accepted >= 0 else { throw Refusal("accept") }
            let connection = RawSocket(accepted)
            connection.limitWaiting()
            return connection
        }
    }

    /// Writes all bytes.
    public func write(_ bytes: [UInt8], thenClose: Bool = false) async throws {
        try await write([bytes])
        if thenClose { close() }
    }

    /// Writes all bytes, with one system call for each of the pieces.
    public func write(_ pieces: [[UInt8]]) async throws {
        try await blocking {
            for piece in pieces {
                var rest = piece[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { Glibc.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                    guard count > 0 else { throw Refusal("send") }
                    rest = rest.dropFirst(count)
                }
            }
        }
    }

    /// Reads as many bytes, or fewer at the end of the stream.
    public func read(_ count: Int) async throws -> [UInt8] {
        try await blocking {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: count)
            while bytes.count < count {
                let step = recv(self.descriptor, &buffer, count - bytes.count, 0)
                guard step >= 0 else { throw Refusal("recv") }
                if step == 0 { break }
                bytes += buffer[..<step]
            }
            return bytes
        }
    }

    /// Sends what there is room for, and returns the number of bytes; fewer than none when the other end has closed.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Int {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    /// Whether the other end has closed.
    public var isClosed: Bool {
        // POLLRDHUP, which the C library's header hides: of TCP, the other end's close is no hang-up as long as this end is open.
        let ended = Int16(0x2000)
        var state = pollfd(fd: descriptor, events: ended, revents: 0)
        return poll(&state, 1, 0) == 1 && state.revents & (Int16(POLLHUP | POLLERR) | ended) != 0
    }

    /// Reads until the other end closes, which a test expects within the time; blocks its thread meanwhile.
    ///
    /// - Returns: All that was received; `nil` when the other end hasn't closed in time.
    public func receiveAll(withinSeconds seconds: Int = 20) -> [UInt8]? {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&state, 1, Int32(seconds * 1_000)) == 1 {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            // A connection that was closed with unread bytes is reset.
            guard count > 0 else { return received }
            received += buffer[..<count]
        }
        return nil
    }

    /// Reads until the other end closes, without blocking a thread that the other end may need.
    public func receiveUntilClosed(sourceLocation: SourceLocation = #_sourceLocation) async throws -> [UInt8] {
        try await eventually("the other end closes", sourceLocation: sourceLocation) { isClosed }
        return receiveSoFar()
    }

    /// Reads what has come so far.
    public func receiveSoFar() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        return Array(buffer[..<max(recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)), 0)])
    }
}
