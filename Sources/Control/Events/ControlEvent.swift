/// An event of the tree or of the daemon.
///
/// Events are numbered from 1 in each daemon. A reader that was away asks for those after the last number that it has seen; when some of them
/// aren't kept any more, an event of the kind `gap` tells how many.
public struct ControlEvent: Codable, Hashable, Sendable {
    /// The kinds of events.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// A child is ready for the first time, or after an operator's start.
        case started
        /// A child has ended and isn't started again by itself.
        case stopped
        /// A child has ended unexpectedly.
        case crashed
        /// A child waits for its next start.
        case restarting
        /// A child waits for its next start, and has failed three times in a row or more.
        case failing
        /// A child is ready again.
        case restarted
        /// A child could not be started.
        case startFailed = "start_failed"
        /// A child failed too often, or for good, and isn't started again.
        case gaveUp = "gave_up"
        /// A child was paused.
        case paused
        /// A child was resumed.
        case resumed
        /// A worker that a former daemon had left was taken over.
        case adopted
        /// A worker hasn't answered for too long, or its executor runs nothing.
        case unresponsive
        /// The health check of a program has failed as often in a row as its `retries` say; the reason is the last failure.
        case unhealthy
        /// The health check of a program succeeds, for the first time in its life, or again.
        case healthy
        /// A durable flow doesn't go on before an operator says how; the reason is the last error of its work.
        case parked
        /// The link of a worker, or of another node (the path is the root's then), was closed, because it has broken a rule: it has sent what it
        /// may not.
        case violation
        /// Messages were dropped.
        case deadLetters = "dead_letters"
        /// An operator's request was carried out, or has failed.
        case `operator`
        /// A configuration was applied.
        case configuration
        /// Certificates or secrets of the cluster were renewed, or can't be, or have expired; the reason says so.
        case renewal
        /// A run of a child that has times didn't take place, or not in time; the reason says why.
        case missed
        /// What was removed of the daemon's runtime directory has been made again; the reason says what.
        case restored
        /// The daemon serves operators, and starts its children.
        case daemonStarted = "daemon_started"
        /// The daemon has begun to stop.
        case daemonStopping = "daemon_stopping"
        /// Events that aren't kept any more are missing here.
        case gap
        /// A kind that a newer daemon has sent.
        case other

        /// Decodes a kind; one that this build doesn't know is `other`.
        public init(from decoder: any Decoder) throws {
            self = Kind(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .other
        }
    }

    /// The operator's request that an event is about.
    public struct Request: Codable, Hashable, Sendable {
        /// The operation's name, such as `restart`.
        public var operation: String
        /// The user ID of the requesting process.
        public var uid: UInt32
        /// The name of that user; nil when there is none.
        public var user: String?
        /// The ID of the requesting process.
        public var pid: Int32
        /// The name of the requesting program, without its arguments, which may have secrets; nil when the process was gone.
        public var command: String?
        /// The node of the cluster on whose machine the process is, and which has passed the request on; nil: it's this machine.
        public var node: String?
        /// The name of the change, as in ``ControlRequest/requestID``.
        public var id: String?
        /// `ok`, or the code of the error.
        public var outcome: String
        /// The milliseconds that the operation took.
        public var durationMilliseconds: Int64

        /// Creates a request.
        public init(
            operation: String,
            uid: UInt32,
            user: String?,
            pid: Int32,
            command: String?,
            node: String? = nil,
            id: String?,
            outcome: String,
            durationMilliseconds: Int64
        ) {
            self.operation = operation
            self.uid = uid
            self.user = user
            self.pid = pid
            self.command = command
            self.node = node
            self.id = id
            self.outcome = outcome
            self.durationMilliseconds = durationMilliseconds
        }

        private enum CodingKeys: String, CodingKey {
            case operation, uid, user, pid, command, node, id, outcome
            case durationMilliseconds = "duration_ms"
        }
    }

    /// The event's number; of a gap, that of the last missing event.
    public var number: UInt64
    /// The identifier of the daemon's life: the numbers of another life have nothing to do with these.
    public var boot: String
    /// The time of the event, as in ``LogLine/time``.
    public var time: String
    /// The kind of the event.
    public var kind: Kind
    /// The path that the event is about; nil when it is about the daemon.
    public var path: String?
    /// The number of the child's life.
    public var incarnation: UInt32?
    /// The child's process.
    public var pid: Int32?
    /// The end's reason, the error, or what else there is to say.
    public var reason: String?
    /// The exit code of an end; nil when there is none.
    public var exitCode: Int32?
    /// The number of the signal that has ended the process; nil when none has.
    public var signal: Int32?
    /// The number of restarts in a row, of `restarting` and `failing`.
    public var attempt: Int?
    /// The milliseconds until the next start, of `restarting` and `failing`.
    public var delayMilliseconds: Int64?
    /// The number of dropped messages, of `dead_letters`; of missing events, of `gap`.
    public var count: UInt64?
    /// The operator's request, of `operator`.
    public var request: Request?

    /// Creates an event.
    public init(
        number: UInt64 = 0,
        boot: String = "",
        time: String = "",
        kind: Kind,
        path: String? = nil,
        incarnation: UInt32? = nil,
        pid: Int32? = nil,
        reason: String? = nil,
        attempt: Int? = nil,
        delayMilliseconds: Int64? = nil,
        count: UInt64? = nil,
        request: Request? = nil
    ) {
        self.number = number
        self.boot = boot
        self.time = time
        self.kind = kind
        self.path = path
        self.incarnation = incarnation
        self.pid = pid
        self.reason = reason
        self.attempt = attempt
        self.delayMilliseconds = delayMilliseconds
        self.count = count
        self.request = request
    }

    private enum CodingKeys: String, CodingKey {
        case number, boot, time, kind, path, incarnation, pid, reason, signal, attempt, count, request
        case exitCode = "exit_code"
        case delayMilliseconds = "delay_ms"
    }
}

extension ControlEvent {
    /// Returns whether the event is about a path or one below it; what is missing may be about any path.
    package func isAbout(_ subtree: String) -> Bool {
        guard let path else { return subtree == "/" || kind == .gap }
        return subtree == "/" || path == subtree || path.hasPrefix(subtree + "/")
    }
}
