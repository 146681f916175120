import NNG

/// Why a link ended or refused a frame.
public struct LinkError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure, open for more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String { case closed, peerClosed, frameTooLarge, malformed, handshake, connection }
        private let kind: Kind

        /// This side closed the link.
        public static let closed = Code(kind: .closed)
        /// The other side closed it, or is gone.
        public static let peerClosed = Code(kind: .peerClosed)
        /// The frame is larger than the limit; the link lives on.
        public static let frameTooLarge = Code(kind: .frameTooLarge)
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
