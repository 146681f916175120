import ConcurrencySupport
import Glibc

/// A Unix stream socket without nng, to be the peer that misbehaves.
final class RawSocket: Sendable {
    let descriptor: Int32
    private let isClosed = Lock(false)

    init(connectedTo path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemCallError("socket") }
        guard Self.with(path, { connect(descriptor, $0, $1) }) == 0 else { throw SystemCallError("connect") }
        limitWaiting()
    }

    init(listeningAt path: String, backlog: Int32 = 128) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemCallError("socket") }
        guard Self.with(path, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0 else { throw SystemCallError("listen") }
        limitWaiting()
    }

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        limitWaiting()
    }

    deinit {
        close()
    }

    func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        if isFirst { _ = Glibc.close(descriptor) }
    }

    func accept() async throws -> RawSocket {
        try await blocking {
            let accepted = Glibc.accept(self.descriptor, nil, nil)
            guard accepted >= 0 else { throw SystemCallError("accept") }
            return RawSocket(accepted)
        }
    }

    func write(_ bytes: [UInt8], thenClose: Bool = false) async throws {
        try await blocking {
            try self.writeNow(bytes)
            if thenClose { self.close() }
        }
    }

    /// One system call for each of `pieces`.
    func write(_ pieces: [[UInt8]]) async throws {
        try await blocking {
            for piece in pieces { try self.writeNow(piece) }
        }
    }

    private func writeNow(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw SystemCallError("send") }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads exactly `count` bytes, or fewer at the end of the stream.
    func read(_ count: Int) async throws -> [UInt8] {
        try await blocking { try self.readNow(count) }
    }

    private func readNow(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let step = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + filled, count - filled, 0) }
            guard step >= 0 else { throw SystemCallError("recv") }
            if step == 0 { break }
            filled += step
        }
        return Array(bytes[..<filled])
    }

    /// No test hangs because a peer says nothing.
    private func limitWaiting() {
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    private static func with(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}

/// SP's bytes, written out here so that they don't come from what is tested.
enum Wire {
    static let greeting: [UInt8] = [0, 0x53, 0x50, 0, 0, 0x10, 0, 0]

    static func message(_ body: [UInt8], announcing length: UInt64? = nil) -> [UInt8] {
        let length = length ?? UInt64(body.count)
        return [1] + (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) } + body
    }
}
