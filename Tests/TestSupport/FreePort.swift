import ConcurrencySupport
import Glibc

/// A port of the loopback device that nothing listens at.
///
/// It's below those that the kernel chooses, which may be another socket's a moment after they were free, and no other process of tests gets it: a
/// program of one test would find that of another at its port.
public enum FreePort {
    private static let range: Range<UInt16> = 16_384..<32_768
    /// The number of ports that a process takes at a time.
    private static let share = 256
    private static let own = Lock<[UInt16]>([])

    /// Returns a port that is given once, and to no other process of tests as long as this one lives.
    public static func find() throws -> UInt16 {
        let (port, descriptor) = try hold()
        close(descriptor)
        return port
    }

    /// Returns such a port with a socket that has it and doesn't listen: until that is closed, connections are refused.
    public static func hold() throws -> (port: UInt16, descriptor: Int32) {
        try own.withLock { own in
            while true {
                if own.isEmpty { own = try claimShare() }
                let port = own.removeFirst()
                if let descriptor = bound(to: port) { return (port, descriptor) }
            }
        }
    }

    struct NoPort: Error {}

    private static func claimShare() throws -> [UInt16] {
        guard let first = stride(from: range.lowerBound, to: range.upperBound, by: share).first(where: claim) else { throw NoPort() }
        return Array(first..<first + UInt16(share))
    }

    /// Takes a name that the kernel keeps for one process at a time, until its end: the socket isn't closed.
    private static func claim(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // An abstract name begins with a zero, and has no file.
        let name = [0] + "coordinators-test-ports-\(port)".utf8
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let isClaimed = bind(descriptor, to: &address, length: MemoryLayout<sa_family_t>.size + name.count)
        if !isClaimed { close(descriptor) }
        return isClaimed
    }

    /// Returns a socket that has a port; `nil` when another one has it.
    private static func bound(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        if bind(descriptor, to: &address, length: MemoryLayout<sockaddr_in>.size) { return descriptor }
        close(descriptor)
        return nil
    }

    private static func bind<Address>(_ descriptor: Int32, to address: inout Address, length: Int) -> Bool {
        // Unsafe: the call takes all kinds of addresses by one pointer, with their lengths.
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, socklen_t(length)) == 0 }
        }
    }
}
