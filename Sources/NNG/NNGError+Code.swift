internal import CNNG

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
