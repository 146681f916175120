import ConcurrencySupport
import Glibc

/// A question to a server on this machine, by way of the loopback device.
package enum LoopbackProbe {
    private struct Failure: Error {
        let message: String

        init(_ message: String) { self.message = message }
        init(errno: Int32) { message = errno == EAGAIN || errno == EINPROGRESS ? "no answer in time" : String(cString: strerror(errno)) }
    }

    /// Connects to a port, and asks for a path by HTTP if there is one.
    ///
    /// The calls block a thread of their own, at most for the time.
    ///
    /// - Returns: A description of the failure; nil when the server answers as it should.
    package static func problem(port: UInt16, path: String?, within timeout: Duration) async -> String? {
        await withCheckedContinuation { continuation in
            let isRunning = DetachedThread.run {
                do throws(Failure) {
                    try run(port, path, until: ContinuousClock.now + timeout)
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error.message)
                }
            }
            if !isRunning { continuation.resume(returning: "no thread can be made for the check") }
        }
    }

    private static func run(_ port: UInt16, _ path: String?, until deadline: ContinuousClock.Instant) throws(Failure) {
        let connection = try connect(to: port, until: deadline)
        defer { close(connection) }
        guard let path else { return }
        try send("GET \(path) HTTP/1.0\r\nHost: localhost:\(port)\r\nConnection: close\r\n\r\n", on: connection, until: deadline)
        let line = try statusLine(on: connection, until: deadline)
        // "HTTP/1.1 200 OK"
        let fields = line.split(separator: " ", maxSplits: 2)
        guard fields.count >= 2, fields[0].hasPrefix("HTTP/"), let status = Int(fields[1]) else {
            throw Failure("the answer isn't HTTP")
        }
        guard (200..<400).contains(status) else { throw Failure("HTTP status \(status)") }
    }

    /// Connects by IPv4, and by IPv6 if that is refused.
    private static func connect(to port: UInt16, until deadline: ContinuousClock.Instant) throws(Failure) -> Int32 {
        do throws(Failure) {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return try connect(AF_INET, &address, until: deadline)
        } catch {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            if let connection = try? connect(AF_INET6, &address, until: deadline) { return connection }
            throw error
        }
    }

    private static func connect<Address>(
        _ family: Int32,
        _ address: inout Address,
        until deadline: ContinuousClock.Instant
    ) throws(Failure) -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(errno: errno) }
        do throws(Failure) {
            try limit(descriptor, until: deadline)
            // Unsafe: connect(2) takes all kinds of addresses by one pointer.
            let status = withUnsafeBytes(of: &address) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { Glibc.connect(descriptor, $0.baseAddress, socklen_t(bytes.count)) }
            }
            // A stop of this process interrupts the call, and the connection is made all the same.
            if status != 0, errno == EINTR {
                try awaitConnection(descriptor, until: deadline)
            } else if status != 0 {
                throw Failure(errno: errno)
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func awaitConnection(_ descriptor: Int32, until deadline: ContinuousClock.Instant) throws(Failure) {
        var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            let count = poll(&watched, 1, max(left, .milliseconds(1)).millisecondsRoundedUp)
            if count == 0 { throw Failure("no answer in time") }
            if count < 0 { guard errno == EINTR else { throw Failure(errno: errno) } } else { break }
        }
        var problem: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &size)
        if problem != 0 { throw Failure(errno: problem) }
    }

    private static func send(_ text: String, on descriptor: Int32, until deadline: ContinuousClock.Instant) throws(Failure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            try limit(descriptor, until: deadline)
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count >= 0 || errno == EINTR else { throw Failure(errno: errno) }
            rest = rest.dropFirst(max(count, 0))
        }
    }

    /// The first line of the answer, or its beginning.
    private static func statusLine(on descriptor: Int32, until deadline: ContinuousClock.Instant) throws(Failure) -> String {
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 256)
        while line.count < 256, !line.contains(UInt8(ascii: "\n")) {
            try limit(descriptor, until: deadline)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 || errno == EINTR else { throw Failure(errno: errno) }
            if count == 0 { break }
            line += buffer[..<max(count, 0)]
        }
        let end = line.firstIndex { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") } ?? line.endIndex
        return String(decoding: line[..<end], as: UTF8.self)
    }

    /// Limits the next call to the remaining time; connect(2) goes by the limit of sending.
    private static func limit(_ descriptor: Int32, until deadline: ContinuousClock.Instant) throws(Failure) {
        // After the deadline there is a moment left for what is there already: this process may have stood still meanwhile.
        let left = max(ContinuousClock.now.duration(to: deadline), .milliseconds(1))
        let (seconds, attoseconds) = left.components
        // A time of zero would mean no limit.
        var time = timeval(tv_sec: Int(seconds), tv_usec: max(1, Int(attoseconds / 1_000_000_000_000)))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }
}
