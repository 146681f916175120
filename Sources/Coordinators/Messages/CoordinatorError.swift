import WireProtocol

/// An error that the runtime throws.
public struct CoordinatorError: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure; more kinds may be added.
    public struct Code: Sendable, Hashable, Codable, CustomStringConvertible {
        enum Kind: String, Codable, CaseIterable {
            case unhandled, timedOut, stopped, draining, peerLost, restarting, keyInUse, configurationDiffers, noSuchChild, noSuchPath,
                unknownType, invalidName, failed
            case invalidSpecification, dismissed, startFailed, startTimedOut, invalidKey, notAWorker, tooManyOpenAsks, mailboxFull,
                messageTooLarge, coding, spawnFailed, hookFailed,
                unsupported, poisoned, deadlock
            case storeInUse, storeFull, storeCorrupt, unwound
            /// The answer of a node that doesn't own the coordinator, to the node that has sent the message; no user sees it.
            case notHere
        }
        let kind: Kind

        /// No coordinator from the sender up to the root responds to the message.
        public static let unhandled = Code(kind: .unhandled)
        /// The deadline passed; the handler has been cancelled, or doesn't begin.
        public static let timedOut = Code(kind: .timedOut)
        /// The coordinator that asks or is asked has stopped.
        public static let stopped = Code(kind: .stopped)
        /// The coordinator only finishes what it has taken, because it's stopping: nothing was executed.
        public static let draining = Code(kind: .draining)
        /// The coordinator was dismissed, or its pages were popped, before it finished.
        public static let dismissed = Code(kind: .dismissed)
        /// The process of the other side is gone; `maybeExecuted` tells whether the handler may have begun.
        public static let peerLost = Code(kind: .peerLost)
        /// The coordinator is being restarted, and the next attempt lies beyond the deadline.
        public static let restarting = Code(kind: .restarting)
        /// A child of another type lives under the key, or any child when one was to be run there.
        public static let keyInUse = Code(kind: .keyInUse)
        /// A child of the same type lives under the key, with another configuration.
        public static let configurationDiffers = Code(kind: .configurationDiffers)
        /// There is no child under the key.
        public static let noSuchChild = Code(kind: .noSuchChild)
        /// There is no coordinator at the path.
        public static let noSuchPath = Code(kind: .noSuchPath)
        /// The worker's program doesn't know the coordinator's type.
        public static let unknownType = Code(kind: .unknownType)
        /// A name by which messages, errors or coordinators are known to other processes stands for several types, or can't be a name.
        public static let invalidName = Code(kind: .invalidName)
        /// The coordinator has failed, and isn't restarted any more.
        public static let failed = Code(kind: .failed)
        /// The coordinator could not be started; of an ask: nothing was executed.
        public static let startFailed = Code(kind: .startFailed)
        /// The child's specification contradicts itself, such as a permanent child that is significant.
        public static let invalidSpecification = Code(kind: .invalidSpecification)
        /// The coordinator was not ready in time.
        public static let startTimedOut = Code(kind: .startTimedOut)
        /// The key is empty, too long, or has a slash or a control character in it.
        public static let invalidKey = Code(kind: .invalidKey)
        /// The operation needs a worker process, and the child has none.
        public static let notAWorker = Code(kind: .notAWorker)
        /// The link has reached its limit of open asks.
        public static let tooManyOpenAsks = Code(kind: .tooManyOpenAsks)
        /// The mailbox is full.
        public static let mailboxFull = Code(kind: .mailboxFull)
        /// The message exceeds the frame limit; with ``CoordinatorError/maybeExecuted`` its reply does, and the handler has ended.
        public static let messageTooLarge = Code(kind: .messageTooLarge)
        /// A value could not be encoded or decoded.
        public static let coding = Code(kind: .coding)
        /// The worker's process could not be spawned.
        public static let spawnFailed = Code(kind: .spawnFailed)
        /// A command of a program's ``ProgramHooks`` has failed.
        public static let hookFailed = Code(kind: .hookFailed)
        /// The operation doesn't apply to this child.
        public static let unsupported = Code(kind: .unsupported)
        /// Three members of a pool have died while they handled the idempotent message, the last while it handled nothing else; see <doc:Pools>.
        public static let poisoned = Code(kind: .poisoned)

        /// The message can't begin, because the coordinators that keep it from that wait for one another.
        ///
        /// The error names them. Nothing was executed.
        public static let deadlock = Code(kind: .deadlock)

        /// Another process has the store of durable flows open.
        public static let storeInUse = Code(kind: .storeInUse)
        /// The store of durable flows has no room for the change: nothing has changed.
        public static let storeFull = Code(kind: .storeFull)
        /// The store of durable flows can't be read.
        public static let storeCorrupt = Code(kind: .storeCorrupt)
        /// The durable flow has come to its end by undoing all that it had done.
        public static let unwound = Code(kind: .unwound)

        static let notHere = Code(kind: .notHere)

        /// The code's name, as it stands on the wire.
        public var description: String { kind.rawValue }

        init?(_ name: String) {
            guard let kind = Kind(rawValue: name) else { return nil }
            self.kind = kind
        }

        init(kind: Kind) { self.kind = kind }
    }

    /// The kind of the failure.
    public let code: Code
    /// The description of what happened, where, and what to do.
    public var message: String {
        switch explanation {
        case .text(let text): text
        case .unhandled(let message):
            "nobody from \(message.sender) up to \(CoordinatorPath.root) responds to \(message.name)\(TypeNames.advice(on: message.name))"
        }
    }
    /// Whether a handler of the message may have begun, or an operation may have been carried out.
    ///
    /// False only with proof, whatever stood between asker and responder, and true of every error that a handler has thrown itself. An
    /// interceptor counts as a handler, unless it has let the message climb and passes on the refusal that `chain.next` has thrown. Where
    /// the responder is in another process, a message that has left counts as begun until that process says otherwise: of one that was only
    /// waiting there when its deadline passed, or when the process died, this is true as well.
    public let maybeExecuted: Bool
    /// Whether the error proves that no handler of the message has begun, so that asking again does no harm.
    ///
    /// The contrary of ``maybeExecuted``. A `CancellationError` proves nothing.
    public var provesNothingExecuted: Bool { !maybeExecuted }
    private let explanation: Explanation

    /// Creates an error.
    public init(_ code: Code, _ message: String, maybeExecuted: Bool = false) {
        self.code = code
        explanation = .text(message)
        self.maybeExecuted = maybeExecuted
    }

    init(unhandled message: UnhandledMessage) {
        code = .unhandled
        explanation = .unhandled(message)
        maybeExecuted = false
    }

    private init(doubting error: CoordinatorError) {
        (code, explanation, maybeExecuted) = (error.code, error.explanation, true)
    }

    /// The error as it is when a handler may have begun.
    var doubted: CoordinatorError { maybeExecuted ? self : CoordinatorError(doubting: self) }

    /// The code and what happened.
    public var description: String { "\(code): \(message)" }

    /// What the message is made of: the text of an error that is thrown often, and often caught unread, is made when it's read.
    private enum Explanation: Sendable {
        case text(String)
        case unhandled(UnhandledMessage)
    }
}

extension CoordinatorError: Hashable {
    /// Returns whether both have the same code and message, and allow the same to be retried.
    public static func == (left: CoordinatorError, right: CoordinatorError) -> Bool {
        left.code == right.code && left.maybeExecuted == right.maybeExecuted && left.message == right.message
    }

    /// Hashes the code, the message, and whether the handler may have begun.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(maybeExecuted)
    }
}

extension CoordinatorError: Codable {
    private enum CodingKeys: CodingKey { case code, message, maybeExecuted }

    /// Reads the error's parts.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(Code.self, forKey: .code),
            try container.decode(String.self, forKey: .message),
            maybeExecuted: try container.decode(Bool.self, forKey: .maybeExecuted)
        )
    }

    /// Writes the error's parts.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encode(maybeExecuted, forKey: .maybeExecuted)
    }
}

/// A handler's error whose type the asker's program doesn't know: the message doesn't declare it in ``ResponderMessage/Failure``, and it isn't
/// Codable, or there is no type of the same name in the same module; or the error as its build encodes it is no value of the asker's type.
public struct RemoteError: ResponderError, CustomStringConvertible {
    /// The error type's name.
    public let type: String
    /// The description that the error gave of itself.
    public let description: String
    /// The encoded error as it arrived, so that it can be passed on to another process.
    private(set) var encoded: Encoded?

    /// An error in the form that it has between processes.
    struct Encoded: Sendable {
        let failure: Failure
        let codec: PayloadCodec
    }

    /// Creates an error.
    public init(type: String, description: String) {
        self.init(type: type, description: description, encoded: nil)
    }

    init(type: String, description: String, encoded: Encoded?) {
        self.type = type
        self.description = description
        self.encoded = encoded
    }
}

extension RemoteError: Hashable {
    /// Returns whether both have the same type name and description.
    public static func == (left: RemoteError, right: RemoteError) -> Bool {
        left.type == right.type && left.description == right.description
    }

    /// Hashes the type name and the description.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(description)
    }
}

extension RemoteError {
    private enum CodingKeys: CodingKey { case type, description }
}
