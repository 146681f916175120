internal import CNNG

/// An error of an operation on a byte stream, a listener or a pair connection.
///
/// The codes are nng's (`nng_strerror(3)`); `description` says in words what happened, where, and what may be done about it.
public struct NNGError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure: nng's error number under a Swift name.
    public let code: Code
    /// The operation that failed, such as "dial", "listen", "accept", "receive", "send" or "negotiate".
    public let operation: String
    /// The address concerned, or an empty string where there is none.
    public let address: String

    /// Creates an error.
    public init(_ code: Code, operation: String, address: String = "") {
        self.code = code
        self.operation = operation
        self.address = address
    }

    /// One sentence for people: operation, address, nng's text, and advice where there is some.
    public var description: String {
        let place = address.isEmpty ? "" : " \(address)"
        let advice = advice.map { ": \($0)" } ?? ""
        return "\(operation)\(place) failed: \(code)\(advice)"
    }

    private var advice: String? {
        switch code {
        case .addressInvalid:
            if let length = SocketPath.excessiveLength(in: address) {
                return "the path has \(length) bytes, a socket's path at most \(SocketPath.maximumLength); use a shorter directory"
            }
            return "expected an address such as ipc:///run/coordinator/control.sock"
        case .addressInUse: return "another process listens there"
        case .connectionRefused: return "no process listens there"
        case .permissionDenied: return "check the owner and the mode of the socket and of its directory"
        case .outOfFiles: return "raise the limit of open descriptors"
        case .messageTooLarge: return "the message is larger than the maximum message size of this connection"
        case .protocolError: return "the other end does not speak SP pair version 0"
        case .cryptography, .peerNotAuthenticated:
            return "check both ends' certificates: the authority, the name, the time for which they are good"
        case .busy: return "wait for the operation that is under way"
        default: return nil
        }
    }
}

/// The paths of Unix sockets, and the limit on them, which nng reports without naming it.
enum SocketPath {
    /// `sizeof(sun_path)` less the terminating zero byte, see unix(7).
    static let maximumLength = 107

    /// Returns the path that an address has; nil when it isn't that of a Unix socket.
    static func path(in address: String) -> Substring? {
        ["ipc://", "unix://"].first { address.hasPrefix($0) }.map { address.dropFirst($0.count) }
    }

    static func excessiveLength(in address: String) -> Int? {
        path(in: address).map(\.utf8.count).flatMap { $0 > maximumLength ? $0 : nil }
    }

    /// Refuses addresses that nng would cut short or report less clearly.
    static func check(_ address: String, operation: String) throws(NNGError) {
        if excessiveLength(in: address) != nil || address.utf8.contains(0) {
            throw NNGError(.addressInvalid, operation: operation, address: address)
        }
    }
}
