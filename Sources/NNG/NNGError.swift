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

extension NNGError {
    /// One of nng's error numbers; numbers without a name here are kept as they are.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// nng's number, `NNG_E…` of nng.h.
        public let rawValue: Int32

        /// Creates a code from a number as nng reports it.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        private init(_ error: nng_errno_enum) {
            self.init(rawValue: Int32(bitPattern: error.rawValue))
        }

        /// The connection was closed at this end.
        public static let closed = Code(NNG_ECLOSED)
        /// The task was cancelled; the operation had no effect.
        public static let canceled = Code(NNG_ECANCELED)
        /// The time-out passed first.
        public static let timedOut = Code(NNG_ETIMEDOUT)
        /// Another listener has the address.
        public static let addressInUse = Code(NNG_EADDRINUSE)
        /// The address is malformed, or its socket path is too long.
        public static let addressInvalid = Code(NNG_EADDRINVAL)
        /// There is no listener at the address.
        public static let connectionRefused = Code(NNG_ECONNREFUSED)
        /// The peer went away without reading everything that was sent to it.
        public static let connectionReset = Code(NNG_ECONNRESET)
        /// The peer closed the connection.
        public static let connectionShut = Code(NNG_ECONNSHUT)
        /// The connection was aborted before it was accepted.
        public static let connectionAborted = Code(NNG_ECONNABORTED)
        /// Memory or threads have run out.
        public static let outOfMemory = Code(NNG_ENOMEM)
        /// Descriptors have run out.
        public static let outOfFiles = Code(NNG_ENOFILES)
        /// An operation of the same kind is under way.
        public static let busy = Code(NNG_EBUSY)
        /// A queue is full for the moment, such as a listener's backlog.
        public static let tryAgain = Code(NNG_EAGAIN)
        /// An argument is out of range.
        public static let invalidArgument = Code(NNG_EINVAL)
        /// The operation, or the address's scheme, is not supported.
        public static let notSupported = Code(NNG_ENOTSUP)
        /// The object is not in a state for this operation.
        public static let wrongState = Code(NNG_ESTATE)
        /// No such file or directory.
        public static let notFound = Code(NNG_ENOENT)
        /// The file system or the peer forbids it.
        public static let permissionDenied = Code(NNG_EPERM)
        /// The peer's bytes break the protocol.
        public static let protocolError = Code(NNG_EPROTO)
        /// The peer has shown no certificate, or one that isn't to be trusted.
        public static let peerNotAuthenticated = Code(NNG_EPEERAUTH)
        /// A certificate or a key is none, or encryption has failed, also because a certificate isn't to be trusted.
        public static let cryptography = Code(NNG_ECRYPTO)
        /// The message is larger than the maximum message size.
        public static let messageTooLarge = Code(NNG_EMSGSIZE)

        /// nng's own text for the number, and the number.
        public var description: String {
            "\(String(cString: nng_strerror(rawValue))) (nng error \(rawValue))"
        }
    }
}
