/// The place at which a node listens for others: a host's name or address, and a port.
public struct NodeAddress: Hashable, Sendable {
    /// The name or address of the host; one of IPv6 without brackets.
    public var host: String
    /// The port.
    public var port: UInt16

    /// Reads an address such as `10.0.0.1:7400`, `node-a.example:7400` or `[::1]:7400`; nil when the text is none.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        let isPlain = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        guard isPlain, (1...253).contains(host.utf8.count) else { return nil }
        (self.host, self.port) = (String(host), port)
    }

    /// Creates an address.
    public init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

    /// Whether this stands for all addresses of a machine, so that no other machine can dial it.
    public var isWildcard: Bool { host == "0.0.0.0" || host == "::" }

    var url: String { "tls+tcp://\(self)" }
}

extension NodeAddress: CustomStringConvertible {
    /// The address as it's written.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
