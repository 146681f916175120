import Glibc

/// The address of an HTTP server, and a client for it that knows POST and nothing else.
package struct HTTPEndpoint: Sendable, Hashable {
    /// The reason why an address isn't one of an endpoint, and what is expected.
    package struct InvalidAddress: Error, CustomStringConvertible {
        package let description: String
    }

    /// The reason why a request may not have arrived.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let host: String
    private var port: UInt16
    /// The path; empty when the address has none.
    private let path: String

    /// Reads `http://HOST[:PORT][/PATH]`.
    package init(_ address: String, defaultPort: UInt16) throws(InvalidAddress) {
        let expected = "expected http://HOST[:PORT][/PATH], such as http://127.0.0.1:4318"
        func invalid(_ why: String) -> InvalidAddress { InvalidAddress(description: "\(why); \(expected)") }
        if address.hasPrefix("https://") { throw invalid("the endpoint is https, which isn't spoken here") }
        guard address.hasPrefix("http://") else { throw invalid("the endpoint doesn't begin with http://") }
        guard address.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw invalid("the endpoint has characters that an address can't have")
        }
        let rest = address.dropFirst(7)
        let authority = rest.prefix { $0 != "/" }
        let path = String(rest.dropFirst(authority.count))
        if authority.contains("@") { throw invalid("the endpoint has a user, and nothing would keep the password secret") }
        if path.contains("#") { throw invalid("the endpoint has a fragment") }
        self.path = path == "/" ? "" : path
        port = defaultPort
        // An address of IPv6 is in brackets, and has colons itself.
        let end = authority.lastIndex(of: "]").map { authority.index(after: $0) } ?? authority.firstIndex(of: ":") ?? authority.endIndex
        let name = authority[..<end]
        let bracketed = name.hasPrefix("[") && name.hasSuffix("]")
        host = String(bracketed ? name.dropFirst().dropLast() : name)
        if host.isEmpty || host.contains("[") || host.contains("]") { throw invalid("the endpoint has no host") }
        if end < authority.endIndex {
            guard authority[end] == ":", let port = UInt16(authority[authority.index(after: end)...]), port > 0 else {
                throw invalid("the endpoint's port isn't a number from 1 to 65535")
            }
            self.port = port
        }
    }

    /// The longest time for which a connection, a write or an answer is awaited.
    private static let limit = 5

    /// Sends JSON over a connection of its own, and waits for the status, which must be a good one.
    ///
    /// - Parameter defaultPath: The path if the address has none.
    package func post(_ body: [UInt8], defaultPath: String) throws(Failure) {
        let connection = try connect()
        defer { close(connection) }
        let head = """
            POST \(path.isEmpty ? defaultPath : path) HTTP/1.1\r
            Host: \(host.contains(":") ? "[\(host)]" : host):\(port)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            User-Agent: swift-coordinators\r
            Connection: close\r
            \r

            """
        var rest = (Array(head.utf8) + body)[...]
        while !rest.isEmpty {
            // Unsafe: send(2) reads the bytes that it's told the number of.
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("can't be written to", errno) }
            rest = rest.dropFirst(count)
        }
        let line = try statusLine(connection)
        let words = line.split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw Failure(description: "\(host):\(port) doesn't answer in HTTP")
        }
        guard 200..<300 ~= status else { throw Failure(description: "\(host):\(port) answers with the status \(status)") }
    }

    private func statusLine(_ connection: Int32) throws(Failure) -> String {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while !answer.contains(UInt8(ascii: "\n")), answer.count < 16_384 {
            let count = recv(connection, &buffer, buffer.count, 0)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure("doesn't answer", errno) }
            if count == 0 { break }
            answer += buffer[..<count]
        }
        return String(decoding: answer.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private func connect() throws(Failure) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, "\(port)", &hints, &first)
        guard status == 0 else { throw Failure(description: "\(host) can't be resolved: \(String(cString: gai_strerror(status)))") }
        defer { freeaddrinfo(first) }
        var problem = ECONNREFUSED
        // Unsafe: the list is the C library's, which lives until freeaddrinfo.
        var next = first
        while let address = next {
            next = address.pointee.ai_next
            let descriptor = socket(address.pointee.ai_family, address.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else {
                problem = errno
                continue
            }
            var limit = timeval(tv_sec: Self.limit, tv_usec: 0)
            for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
            }
            if Glibc.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 { return descriptor }
            problem = errno
            close(descriptor)
        }
        throw failure("can't be reached", problem)
    }

    private func failure(_ what: String, _ number: Int32) -> Failure {
        let isLate = number == EAGAIN || number == EINPROGRESS
        return Failure(
            description: "\(host):\(port) \(what): \(isLate ? "no answer in \(Self.limit) seconds" : String(cString: strerror(number)))"
        )
    }
}
