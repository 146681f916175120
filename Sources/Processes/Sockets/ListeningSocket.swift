import CProcess
import ConcurrencySupport
import Glibc
package import Synchronization

/// A listening socket that outlives the programs to which it's given, so that a restart refuses no connection.
///
/// It's opened when it's needed first, and closed with the last reference. There is one socket for each address in this process: programs with
/// the same address share it, and each connection is accepted by one of them.
public final class ListeningSocket: Sendable {
    private static let all = Lock<[SocketSpecification.Address: Weak]>([:])
    /// The number of connections that may wait; the kernel's own limit, net.core.somaxconn, may be lower.
    private static let backlog: Int32 = 4_096

    private struct Weak {
        weak var socket: ListeningSocket?
    }

    /// The place at which the socket listens.
    public let address: SocketSpecification.Address
    private let state = Lock(State())
    /// Locked by the call that opens the socket, which a file system may delay; what only asks for the descriptor doesn't wait for it.
    private let opening = Lock(())
    /// The sockets that this process was started with.
    static let given = Lock<[Given]>([])

    private struct State {
        var descriptor: Int32 = -1
        /// Whether the socket was given to this process, so that its file isn't this one's to remove.
        var isGiven = false
    }

    private init(_ address: SocketSpecification.Address) { self.address = address }

    /// Returns the socket of an address, which may be open already.
    public static func at(_ address: SocketSpecification.Address) -> ListeningSocket {
        all.withLock { all in
            if let socket = all[address]?.socket { return socket }
            let socket = ListeningSocket(address)
            all = all.filter { $0.value.socket != nil }
            all[address] = Weak(socket: socket)
            return socket
        }
    }

    /// A socket that is open, and that the program which takes this one's place in the process can go on with.
    package struct Handover: Codable, Sendable {
        let address: SocketSpecification.Address
        /// The descriptor, which is the same in the next program when it's kept.
        package let descriptor: Int32
        /// Whether this process was started with the socket.
        var isGiven: Bool?
    }

    /// The sockets that are open.
    package static var handovers: [Handover] {
        let own = all.withLock { all in all.values.compactMap(\.socket) }.compactMap { socket in
            let state = socket.state.withLock { $0 }
            return state.descriptor < 0 || state.isGiven ? nil : Handover(address: socket.address, descriptor: state.descriptor)
        }
        return own + given.withLock { given in given.map { Handover(address: $0.address, descriptor: $0.descriptor, isGiven: true) } }
    }

    /// Takes a socket over that the former program in this process has left open; nil when it isn't one that listens.
    ///
    /// The socket is closed with its last reference. A socket that the process was started with stays open, and isn't returned.
    package static func inherited(_ handover: Handover) -> ListeningSocket? {
        guard isListening(handover.descriptor) else { return nil }
        if handover.isGiven == true, keep(handover.descriptor) { return nil }
        _ = fcntl(handover.descriptor, F_SETFD, FD_CLOEXEC)
        let socket = at(handover.address)
        socket.state.withLock { $0.descriptor = handover.descriptor }
        return socket
    }

    // Whoever lets go of the last reference doesn't wait for a file system; the end of the process would leave the file.
    deinit { close(within: Self.endsWithProcess.load(ordering: .relaxed) ? .seconds(5) : .milliseconds(500)) }

    /// Closes the socket, and removes its file, whoever still refers to it: the last reference may go only after the end of the process has begun.
    ///
    /// - Parameter limit: The time for which a file system is waited for; a file that stays is stale to the next listener.
    package func close(within limit: Duration) {
        let state = state.withLock { state in
            defer { state = State() }
            return state
        }
        guard state.descriptor >= 0 else { return }
        guard case .path(let path, _) = address, !state.isGiven else {
            Glibc.close(state.descriptor)
            return
        }
        let isDone = DetachedThread.run(waitingFor: limit) {
            if let place = try? FilePlace(path, for: .socket), place.isSocket { _ = place.unlink(place.name) }
            Glibc.close(state.descriptor)
        }
        if isDone == nil { Glibc.close(state.descriptor) }
    }

    /// Whether the process ends as soon as all sockets are let go of.
    package static let endsWithProcess = Atomic(false)

    /// Opens the socket if it isn't open yet, and returns its descriptor, which still belongs to this object; a socket of the same address that
    /// this process was started with is used instead.
    ///
    /// - Throws: An error when the address can't be had.
    func open() throws(ProcessError) -> Int32 {
        try opening.withLock { _ throws(ProcessError) in
            let present = state.withLock { $0.descriptor }
            if present >= 0 { return present }
            let given = Self.descriptor(givenFor: address)
            let descriptor = if let given { given } else { try Self.listen(at: address) }
            state.withLock { $0 = State(descriptor: descriptor, isGiven: given != nil) }
            return descriptor
        }
    }

    var isOpen: Bool { state.withLock { $0.descriptor >= 0 } }

    /// Goes on with an open descriptor; returns false when there is one already.
    func replaceDescriptor(_ descriptor: Int32) -> Bool {
        state.withLock { state in
            guard state.descriptor < 0 else { return false }
            state.descriptor = descriptor
            return true
        }
    }

    private static func listen(at address: SocketSpecification.Address) throws(ProcessError) -> Int32 {
        switch address {
        case .tcp(let host, let port): try listen(host, port, address)
        case .path(let path, let mode): try listen(path, mode, address)
        }
    }

    // MARK: Ports

    /// Whether a text is an address of IPv4 or IPv6; names aren't looked up, because that may take any time.
    static func isNumeric(_ host: String) -> Bool {
        var four = in_addr()
        var six = in6_addr()
        return inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
    }

    private static func listen(_ host: String, _ port: UInt16, _ address: SocketSpecification.Address) throws(ProcessError) -> Int32 {
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        if inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
            return try listen(AF_INET6, &six, MemoryLayout<sockaddr_in6>.size, address) { descriptor in
                // All addresses of both kinds, whatever net.ipv6.bindv6only says.
                set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, host == "::" ? 0 : 1)
            }
        }
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &four.sin_addr) == 1 else { throw failure(EINVAL, address) }
        return try listen(AF_INET, &four, MemoryLayout<sockaddr_in>.size, address) { _ in }
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Paths

    private static func listen(_ path: String, _ mode: UInt32, _ address: SocketSpecification.Address) throws(ProcessError) -> Int32 {
        let bound: Result<Int32, ProcessError>
        do throws(FilePlace.Failure) {
            let place = try FilePlace(path, for: .socket)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            // The kernel shows people the path by which a socket was bound.
            let path = place.isReplaceable ? place.fixedPath : path
            // Unsafe: the path is a fixed array of the C structure.
            try withUnsafeMutableBytes(of: &name.sun_path) { bytes throws(FilePlace.Failure) in
                guard path.utf8.count < bytes.count else { throw FilePlace.Failure(errno: ENAMETOOLONG) }
                bytes.copyBytes(from: path.utf8)
            }
            // What isn't a socket is left where it is.
            if place.isSocket, isStale(&name) { _ = place.unlink(place.name) }
            bound = try place.make {
                do throws(ProcessError) {
                    let descriptor = try listen(AF_UNIX, &name, MemoryLayout<sockaddr_un>.size, address) { descriptor in
                        // The mode of the open socket becomes that of the file: no other user can connect before it's set below.
                        fchmod(descriptor, mode_t(mode) & 0o600)
                    }
                    return .success(descriptor)
                } catch {
                    return .failure(error)
                }
            }
            if case .success(let descriptor) = bound { try share(place, mode, descriptor) }
        } catch {
            throw ProcessError(code: .systemCallFailed, errno: error.errno, message: "Could not listen at \(address): \(error).")
        }
        return try bound.get()
    }

    /// Sets the permissions of the socket at a place, and of nothing else that is put there.
    private static func share(_ place: borrowing FilePlace, _ mode: UInt32, _ descriptor: Int32) throws(FilePlace.Failure) {
        let file: Int32
        do throws(FilePlace.Failure) { file = try place.open() } catch {
            Glibc.close(descriptor)
            throw error
        }
        defer { Glibc.close(file) }
        var status = stat()
        if fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { chmod("/proc/self/fd/\(file)", mode_t(mode)) }
    }

    /// Whether a socket file has no listener any more, such as that of a daemon that was killed.
    private static func isStale(_ name: inout sockaddr_un) -> Bool {
        // A listener whose queue is full is one, and isn't waited for.
        let descriptor = socket(AF_UNIX, streamKind | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        return call(&name, MemoryLayout<sockaddr_un>.size) { connect(descriptor, $0, $1) } < 0 && errno == ECONNREFUSED
    }

    // MARK: Both

    private static let streamKind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    private static func listen<Name>(
        _ family: Int32,
        _ name: inout Name,
        _ length: Int,
        _ address: SocketSpecification.Address,
        _ prepare: (Int32) -> Void
    ) throws(ProcessError) -> Int32 {
        let descriptor = socket(family, streamKind, 0)
        guard descriptor >= 0 else { throw failure(errno, address) }
        if family != AF_UNIX { set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1) }
        prepare(descriptor)
        guard call(&name, length, { bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, backlog) == 0 else {
            defer { Glibc.close(descriptor) }
            throw failure(errno, address)
        }
        return descriptor
    }

    /// Calls a function of the kernel with an address of any family.
    private static func call<Name>(_ name: inout Name, _ length: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        // Unsafe: the kernel takes the address of any family.
        withUnsafePointer(to: &name) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) } }
    }

    private static func failure(_ error: Int32, _ address: SocketSpecification.Address) -> ProcessError {
        ProcessError(error, action: "listen at \(address)")
    }
}

extension ListeningSocket: Hashable {
    /// Returns whether both are the same socket, or sockets of the same address.
    public static func == (left: ListeningSocket, right: ListeningSocket) -> Bool { left.address == right.address }

    /// Hashes the address.
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
}

/// A listening socket that a program gets from its parent, and its name.
public struct SocketSpecification: Sendable, Hashable, Codable {
    /// The place at which a socket listens.
    public enum Address: Sendable, Hashable, Codable {
        /// A port of one of this machine's addresses, written in numbers; `::` stands for all of them, those of IPv4 too.
        case tcp(host: String, port: UInt16)
        /// A socket at an absolute path, with the permissions of its file.
        case path(String, mode: UInt32)
    }

    /// The name by which the program finds the socket in `LISTEN_FDNAMES`.
    public var name: String
    /// The place at which the socket listens.
    public var address: Address

    /// Creates a specification.
    public init(name: String, address: Address) {
        self.name = name
        self.address = address
    }

    /// Reads an address: `127.0.0.1:8080`, `[::1]:8080`, `*:8080`, or an absolute path.
    ///
    /// - Parameters:
    ///   - text: the address.
    ///   - mode: the permissions of the file, if it's a path.
    public static func address(_ text: String, mode: UInt32 = 0o600) -> Address? {
        if text.hasPrefix("/") { return text.utf8.count <= RuntimeDirectory.maximumSocketPathLength ? .path(text, mode: mode) : nil }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else { return nil }
        var host = text[..<colon]
        if host == "*" { return .tcp(host: "::", port: port) }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard ListeningSocket.isNumeric(String(host)), host.contains(":") == isBracketed else { return nil }
        return .tcp(host: String(host), port: port)
    }
}

extension SocketSpecification.Address: CustomStringConvertible {
    /// The address as it's written in a configuration.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .path(let path, _): path
        }
    }
}

/// Who may connect at a socket in the file system, beside its owner.
package enum SocketAccess {
    /// Has the members of groups connect, and no one else but the owner: by an access control list, as acl(5) describes it.
    ///
    /// - Returns: 0, or the number of the error.
    package static func admit(_ groups: [UInt32], at path: String) -> Int32 {
        coordinator_admit_groups(path, groups, Int32(groups.count))
    }
}
