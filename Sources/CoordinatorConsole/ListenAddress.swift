/// An address at which a console listens: a port of the loopback device, or a Unix socket.
///
/// A console speaks no TLS. What is to be reached from other machines has a proxy before it that does.
public enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A port of a loopback address; 0 lets the kernel choose.
    case loopback(host: String, port: Int)
    /// A Unix socket, which its permissions protect.
    case unix(path: String)

    /// The reason for which a text is no address.
    public struct Problem: Error, CustomStringConvertible {
        /// What is wrong, and what is expected.
        public let description: String
    }

    /// The names and addresses of the loopback device.
    static let loopbackHosts = ["127.0.0.1", "::1", "localhost"]

    /// Reads an address such as `127.0.0.1:7077`, `[::1]:7077` or `unix:/run/coordinator/console.sock`.
    ///
    /// - Throws: ``Problem`` for an address of another machine or device, and for what isn't an address.
    public init(_ text: String) throws(Problem) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            guard path.hasPrefix("/"), path.utf8.count <= 107, !path.utf8.contains(0) else {
                throw Problem(description: "`\(text)` doesn't name a socket; expected unix: and a whole path of at most 107 bytes")
            }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw Problem(
                description: "`\(text)` isn't an address; expected one such as 127.0.0.1:7077 or unix:/run/coordinator/console.sock"
            )
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard Self.loopbackHosts.contains(host) else {
            throw Problem(
                description:
                    "`\(host)` isn't the loopback device, and the console speaks no TLS; listen at 127.0.0.1 and put a proxy before it"
            )
        }
        self = .loopback(host: host, port: Int(port))
    }

    /// The address as text.
    public var description: String {
        switch self {
        case .loopback(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
