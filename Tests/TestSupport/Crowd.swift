import Glibc
import Processes
import Testing

/// Many connections to a Unix socket that say nothing, or hardly anything.
public final class Crowd: Sendable {
    private let descriptors: [Int32]

    /// - Parameter greets: whether every fourth says which protocol it speaks.
    public init(at path: String, count: Int, greets: Bool = false) throws {
        ResourceLimits.raiseOpenFiles()
        descriptors = try (0..<count).map { index in
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            try #require(descriptor >= 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            // Unsafe: the path is a fixed array of the C structure.
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
            try #require(result == 0, "connection \(index): \(String(cString: strerror(errno)))")
            if greets, index.isMultiple(of: 4) {
                let greeting: [UInt8] = [0, 0x53, 0x50, 0, 0, 0x10, 0, 0]
                _ = send(descriptor, greeting, greeting.count, Int32(MSG_NOSIGNAL))
            }
            return descriptor
        }
    }

    /// The number of connections that the other end has closed.
    public var closedCount: Int {
        descriptors.count { descriptor in
            var state = pollfd(fd: descriptor, events: 0, revents: 0)
            return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP) != 0
        }
    }

    /// Closes all.
    public func leave() { for descriptor in descriptors { close(descriptor) } }
}
