import Glibc
public import Testing

/// A connection to a Unix socket, or to a port of this machine, over which a test sends any bytes.
public final class RawSocket: Sendable {
    /// The bytes that open a conversation in SP's pair protocol, version 0.
    public static let greeting: [UInt8] = [0, 0x53, 0x50, 0, 0, 0x10, 0, 0]

    /// The reason for which there is no connection: nothing listens at the path, or there is no such path.
    public struct Refusal: Error, CustomStringConvertible {
        public let description: String
    }

    private let descriptor: Int32

    /// Connects; a full backlog is waited for.
    ///
    /// - Throws: ``Refusal``.
    public init(_ path: String, _ what: String = "") throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Unsafe: the path is a fixed array of the C structure.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        guard result == 0 else { throw Refusal(description: "connection \(what) to \(path): \(String(cString: strerror(errno)))") }
    }

    /// Connects to a port of 127.0.0.1; a full backlog is waited for.
    ///
    /// - Throws: ``Refusal``.
    public init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        let result = Self.call(port) { connect(descriptor, $0, $1) }
        guard result == 0 else { throw Refusal(description: "connection to port \(port): \(String(cString: strerror(errno)))") }
    }

    /// Calls a function of the kernel with the address of a port of 127.0.0.1.
    private static func call(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // Unsafe: the kernel takes the address of any family.
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    deinit { close(descriptor) }

    /// Returns a message of the protocol with a body.
    public static func message(_ body: [UInt8]) -> [UInt8] {
        [1] + withUnsafeBytes(of: UInt64(body.count).bigEndian) { Array($0) } + body
    }

    /// Sends what there is room for, and returns the number of bytes; fewer than none when the other end has closed.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Int {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    /// Whether the other end has closed.
    public var isClosed: Bool {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP | POLLERR) != 0
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
