import ConcurrencySupport
import Glibc
import Testing

/// A server on the loopback device that gives each connection the same answer.
public final class SmallServer: Sendable {
    private struct State {
        var answer: String?
        var request: String?
        var isClosed = false
    }

    /// What the thread and this object share; the thread doesn't keep this object.
    private final class Shared: Sendable {
        let state: Lock<State>

        init(_ answer: String?) { state = Lock(State(answer: answer)) }
    }

    private let shared: Shared
    private let listener: Int32
    /// The port, which the kernel has chosen.
    public let port: UInt16

    /// The last request that isn't empty.
    public var request: String? { shared.state.withLock { $0.request } }

    /// Begins to listen; without an answer it's silent.
    public init(_ answer: String?) throws {
        self.shared = Shared(answer)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // Unsafe: the calls take all kinds of addresses by one pointer.
        let (descriptor, length) = (listener, size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) + listen(descriptor, 64) + getsockname(descriptor, pointer, &size)
            }
        }
        try #require(status == 0, "no server on the loopback device")
        port = UInt16(bigEndian: address.sin_port)
        let shared = self.shared
        let isServed = DetachedThread.run { Self.serve(descriptor, shared) }
        try #require(isServed, "no thread for the server")
    }

    deinit { close() }

    /// Gives the connections to come another answer.
    public func answer(_ answer: String?) { shared.state.withLock { $0.answer = answer } }

    /// Refuses connections from now on; the thread that accepts them ends.
    public func close() {
        shared.state.withLock { state in
            // The thread closes the descriptor, whose number may then be another's.
            if !state.isClosed { shutdown(listener, Int32(SHUT_RDWR)) }
            state.isClosed = true
        }
    }

    private static func serve(_ listener: Int32, _ shared: Shared) {
        var silent: [Int32] = []
        while case let connection = accept(listener, nil, nil), connection >= 0 {
            guard let answer = shared.state.withLock({ $0.answer }) else {
                silent.append(connection)
                continue
            }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = read(connection, &buffer, buffer.count)
            if count > 0 { shared.state.withLock { $0.request = String(decoding: buffer[..<count], as: UTF8.self) } }
            let bytes = Array(answer.utf8)
            _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            Glibc.close(connection)
        }
        for connection in silent + [listener] { Glibc.close(connection) }
    }
}
