import ConcurrencySupport
import Glibc

/// The listening sockets that this process was started with, by systemd's protocol for socket activation.
///
/// Follows https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html. They stay open as long as this process lives: what has
/// opened them owns their addresses and their files.
extension ListeningSocket {
    /// A socket that was given to this process.
    struct Given {
        let address: SocketSpecification.Address
        let descriptor: Int32
    }

    /// The largest number of sockets that are taken.
    private static let maximumCount: Int32 = 512

    /// Takes the sockets that the variables `LISTEN_PID` and `LISTEN_FDS` speak of, and removes the variables, which are for this process alone.
    ///
    /// Called once, before this process opens a file. A child that lists the address of such a socket gets it; what doesn't listen is closed.
    package static func takeActivated() {
        defer { for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) } }
        func number(_ name: String) -> Int32? { getenv(name).flatMap { Int32(String(cString: $0)) } }
        guard number("LISTEN_PID") == getpid(), let count = number("LISTEN_FDS"), (1...maximumCount).contains(count) else { return }
        for descriptor in GivenSockets.firstTarget..<GivenSockets.firstTarget + count where !keep(descriptor) { Glibc.close(descriptor) }
    }

    /// Keeps a socket for the children that list its address.
    ///
    /// - Returns: False when the descriptor is none of a socket that listens.
    static func keep(_ descriptor: Int32) -> Bool {
        guard isListening(descriptor), let address = address(of: descriptor) else { return false }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        given.withLock { $0.append(Given(address: address, descriptor: descriptor)) }
        return true
    }

    /// Returns another descriptor of the socket that was given for an address; `nil` when none was.
    static func descriptor(givenFor address: SocketSpecification.Address) -> Int32? {
        let descriptor = given.withLock { given in given.first { $0.address.isSamePlace(as: address) }?.descriptor }
        guard let descriptor else { return nil }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, GivenSockets.firstTarget)
        return copy < 0 ? nil : copy
    }

    /// Opens the socket if it isn't open yet.
    ///
    /// - Returns: its descriptor, which belongs to this object, and its place, with the port that the kernel has chosen where that is 0.
    /// - Throws: an error when the address can't be had.
    package func listen() throws(ProcessError) -> (descriptor: Int32, address: SocketSpecification.Address) {
        let descriptor = try open()
        return (descriptor, Self.address(of: descriptor) ?? address)
    }

    static func isListening(_ descriptor: Int32) -> Bool {
        var (isListening, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0 && isListening != 0
    }

    static func address(of descriptor: Int32) -> SocketSpecification.Address? {
        var (name, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
        // Unsafe: the kernel fills in the address of any family, which is then read as what its family says.
        return withUnsafeMutableBytes(of: &name) { bytes -> SocketSpecification.Address? in
            guard let base = bytes.baseAddress, getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0 else {
                return nil
            }
            switch Int32(bytes.load(as: sockaddr.self).sa_family) {
            case AF_INET:
                var four = bytes.load(as: sockaddr_in.self)
                return text(AF_INET, &four.sin_addr).map { .tcp(host: $0, port: UInt16(bigEndian: four.sin_port)) }
            case AF_INET6:
                var six = bytes.load(as: sockaddr_in6.self)
                return text(AF_INET6, &six.sin6_addr).map { .tcp(host: $0, port: UInt16(bigEndian: six.sin6_port)) }
            case AF_UNIX:
                let path = bytes[..<Int(length)].dropFirst(MemoryLayout<sa_family_t>.size).prefix { $0 != 0 }
                return path.isEmpty ? nil : .path(String(decoding: path, as: UTF8.self), mode: 0)
            default: return nil
            }
        }
    }

    private static func text(_ family: Int32, _ address: UnsafeRawPointer) -> String? {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension SocketSpecification.Address {
    /// Returns whether both are the same place, however they are written; the permissions of a file are no part of it.
    func isSamePlace(as other: Self) -> Bool {
        switch (self, other) {
        case (.tcp(let host, let port), .tcp(let otherHost, let otherPort)):
            port == otherPort && Self.bytes(of: host) == Self.bytes(of: otherHost)
        case (.path(let path, _), .path(let other, _)): path == other
        case (.tcp, .path), (.path, .tcp): false
        }
    }

    /// The bytes of an address of IPv4 or IPv6, of which the latter has many spellings.
    private static func bytes(of host: String) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: MemoryLayout<in6_addr>.size)
        if inet_pton(AF_INET, host, &bytes) == 1 { return Array(bytes.prefix(MemoryLayout<in_addr>.size)) }
        return inet_pton(AF_INET6, host, &bytes) == 1 ? bytes : []
    }
}
