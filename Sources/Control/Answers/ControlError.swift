import Glibc
public import WireProtocol

/// The failure of an operator's request: a message for people and a code for scripts.
///
/// On the wire it is `{"code":"noSuchPath","message":"…","maybe_executed":false}`.
public struct ControlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public var code: Code
    /// The message: what happened, where, and what to do next.
    public var message: String
    /// Whether the handler of a message may have begun, or an operation may have been carried out: false only with proof.
    ///
    /// `nil`: the code says all that is known.
    public var maybeExecuted: Bool?
    /// The highest epoch that the node knows of the path, of `notHere`.
    public var epoch: UInt64?

    /// Creates an error.
    public init(_ code: Code, _ message: String, maybeExecuted: Bool? = nil, epoch: UInt64? = nil) {
        self.code = code
        self.message = message
        self.maybeExecuted = maybeExecuted
        self.epoch = epoch
    }

    /// The error without what it quotes of a configuration file, for those who may not be able to read the file.
    public var withoutQuotation: ControlError {
        guard code == .badConfiguration else { return self }
        let advice = "`coordinatorctl config check FILE` shows them to those who may read it"
        return ControlError(code, "the daemon's configuration file has problems; nothing was changed, and \(advice)")
    }

    /// The message without the code.
    public var description: String { message }
}

extension ControlError {
    /// The error as a JSON object.
    public var json: JSONValue {
        var json: JSONValue = ["code": .string(code.name), "message": .string(message)]
        json[CodingKeys.maybeExecuted.rawValue] = maybeExecuted.map { .bool($0) }
        json[CodingKeys.epoch.rawValue] = epoch.map { .integer(Int64(truncatingIfNeeded: $0)) }
        return json
    }

    /// Reads an error; returns `nil` when the value isn't one.
    init?(json: JSONValue) {
        guard let code = json["code"]?.stringValue, let message = json["message"]?.stringValue else { return nil }
        let epoch = json[CodingKeys.epoch.rawValue]?.integerValue.flatMap { UInt64(exactly: $0) }
        self.init(Code(name: code), message, maybeExecuted: json[CodingKeys.maybeExecuted.rawValue]?.boolValue, epoch: epoch)
    }
}

extension ControlError: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, message, epoch
        case maybeExecuted = "maybe_executed"
    }

    /// Decodes the wire's form and keeps a code that this build doesn't know.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = Code(name: try container.decode(String.self, forKey: .code))
        message = try container.decode(String.self, forKey: .message)
        maybeExecuted = try container.decodeIfPresent(Bool.self, forKey: .maybeExecuted)
        epoch = try container.decodeIfPresent(UInt64.self, forKey: .epoch)
    }

    /// Encodes the wire's form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code.name, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(maybeExecuted, forKey: .maybeExecuted)
        try container.encodeIfPresent(epoch, forKey: .epoch)
    }
}

extension ControlError {
    /// The kind of a failure, which determines the exit code of `coordinatorctl`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: Hashable {
            case failed, cancelled, unhandled, alreadyRunning, upgrading, idle, notHere, otherLife
            case notRunning, noSuchPath, invalidRequest, unreachable, timedOut, notPermitted, badConfiguration
            /// A code that a newer daemon has sent.
            case other(String)
        }

        private let kind: Kind

        private init(_ kind: Kind) {
            self.kind = kind
        }

        /// The operation was carried out and failed.
        public static let failed = Code(.failed)
        /// The request was cancelled before its operation had ended.
        public static let cancelled = Code(.cancelled)
        /// No coordinator between the path and the root responds to the message.
        public static let unhandled = Code(.unhandled)
        /// Another daemon uses the runtime directory.
        public static let alreadyRunning = Code(.alreadyRunning)
        /// Another program is taking the daemon's place: nothing was done, and the request can be made again in a moment.
        public static let upgrading = Code(.upgrading)
        /// The daemon has ended the connection, which was idle: nothing was done, and the request can be made again on another connection.
        public static let idle = Code(.idle)
        /// The node doesn't own the subtree, or not in the epoch for which the request is meant: nothing was done.
        ///
        /// Nodes tell it one another, and operators don't get it.
        public static let notHere = Code(.notHere)
        /// The life for which the change was meant is over: nothing was done.
        public static let otherLife = Code(.otherLife)
        /// The coordinator or program at the path isn't running and can't receive the message.
        public static let notRunning = Code(.notRunning)
        /// No coordinator or program has the path.
        public static let noSuchPath = Code(.noSuchPath)
        /// The request itself is wrong: not JSON, another version, an unknown operation, an argument missing or out of range.
        public static let invalidRequest = Code(.invalidRequest)
        /// No daemon listens at the control socket, or the daemon went away before it answered.
        public static let unreachable = Code(.unreachable)
        /// No answer came in time; the daemon may still be carrying the operation out.
        public static let timedOut = Code(.timedOut)
        /// The user may not operate this daemon.
        public static let notPermitted = Code(.notPermitted)
        /// The configuration file has problems.
        public static let badConfiguration = Code(.badConfiguration)

        private static let known: [Code] = [
            failed, cancelled, unhandled, alreadyRunning, upgrading, idle, notHere, otherLife, notRunning, noSuchPath, invalidRequest,
            unreachable, timedOut, notPermitted, badConfiguration,
        ]

        /// Whether the request wasn't carried out, and can be made again on another connection.
        package var provesAbsence: Bool { self == .upgrading || self == .idle }

        /// Creates the code that has this name on the wire.
        public init(name: String) {
            self = Self.known.first { $0.name == name } ?? Code(.other(name))
        }

        /// The code of a system call's failure: `notPermitted` where permissions are missing, else `failed`.
        init(errno: Int32) { self = errno == EACCES || errno == EPERM ? .notPermitted : .failed }

        /// The code's name on the wire, such as `noSuchPath`.
        public var name: String {
            if case .other(let name) = kind { name } else { "\(kind)" }
        }

        /// The exit code for scripts.
        ///
        /// 3 and 4 are those of LSB's `status` action, 64 and above those of `sysexits.h`.
        public var exitCode: Int32 {
            switch kind {
            case .failed, .cancelled, .unhandled, .alreadyRunning, .otherLife, .other: 1
            case .notRunning, .notHere: 3
            case .noSuchPath: 4
            case .invalidRequest: 64
            case .unreachable, .upgrading, .idle: 69
            case .timedOut: 75
            case .notPermitted: 77
            case .badConfiguration: 78
            }
        }

        /// The code's name.
        public var description: String { name }
    }
}
