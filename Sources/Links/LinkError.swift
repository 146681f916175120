import NNG

/// Why a link ended or refused a frame.
public struct LinkError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure, open for more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case closed, peerClosed, frameTooLarge, nameTooLong, congested, malformed, violation, handshake, connection
        }
        private let kind: Kind

        /// This side closed the link.
        public static let closed = Code(kind: .closed)
        /// The other side closed it, or is gone.
        public static let peerClosed = Code(kind: .peerClosed)
        /// The frame is larger than the limit; the link lives on.
        public static let frameTooLarge = Code(kind: .frameTooLarge)
        /// A name is longer than the other side takes; the link lives on.
        public static let nameTooLong = Code(kind: .nameTooLong)
        /// As many notices wait as may; the link lives on.
        public static let congested = Code(kind: .congested)
        /// The peer sent more than it may, or reads nothing of what it's sent; this side closed the link.
        public static let violation = Code(kind: .violation)
        /// The peer sent bytes that are no frames.
        public static let malformed = Code(kind: .malformed)
        /// The first frames were not those of a handshake, or came too late.
        public static let handshake = Code(kind: .handshake)
        /// The connection could not be made or used.
        public static let connection = Code(kind: .connection)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: NNGError) {
        switch error.code {
        case .closed: self.init(.closed, "the link was closed on this side")
        case .connectionShut, .connectionReset: self.init(.peerClosed, "the peer has closed the connection")
        case .messageTooLarge, .protocolError: self.init(.malformed, "\(error)")
        default: self.init(.connection, "\(error)")
        }
    }

    /// The code and what happened.
    public var description: String { "\(code): \(message)" }
}
