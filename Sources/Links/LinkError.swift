import NNG

/// The reason why a link ended or refused a frame.
public struct LinkError: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure; later versions may add more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case closed, peerClosed, frameTooLarge, nameTooLong, congested, malformed, violation, handshake, connection
        }
        private let kind: Kind

        /// This side closed the link.
        public static let closed = Code(kind: .closed)
        /// The other side closed the link, or is gone.
        public static let peerClosed = Code(kind: .peerClosed)
        /// The frame is larger than the limit; the link stays open.
        public static let frameTooLarge = Code(kind: .frameTooLarge)
        /// A name is longer than the other side accepts; the link stays open.
        public static let nameTooLong = Code(kind: .nameTooLong)
        /// Too many bytes of notices wait; the link stays open.
        public static let congested = Code(kind: .congested)
        /// The peer sent more than it may, or doesn't read what it is sent; this side closed the link.
        public static let violation = Code(kind: .violation)
        /// The peer sent bytes that are not frames.
        public static let malformed = Code(kind: .malformed)
        /// The first frames were not those of a handshake, or arrived too late.
        public static let handshake = Code(kind: .handshake)
        /// The connection could not be made or used.
        public static let connection = Code(kind: .connection)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// The kind of the failure.
    public let code: Code
    /// The failure in words.
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

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
