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
