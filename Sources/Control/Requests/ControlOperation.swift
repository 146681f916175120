public import WireProtocol

/// An operation that an operator can request of a daemon.
///
/// Paths are those of the tree, such as `/shop/cart`; `/` is the daemon's root. Each case names the type of its result.
public enum ControlOperation: Hashable, Sendable {
    /// Describes the whole tree: a ``TreeNode``.
    case tree
    /// Lists the processes: a ``ProcessList``.
    case ps
    /// Describes one coordinator or program and its descendants: a ``TreeNode``.
    case status(path: String)
    /// Starts a stopped coordinator or program: a ``LifecycleResult``.
    case start(path: String)
    /// Stops a coordinator or program and its descendants: a ``LifecycleResult``.
    case stop(path: String)
    /// Stops a coordinator or program and starts it again: a ``LifecycleResult``.
    case restart(path: String)
    /// Kills the process of a coordinator or program, whose supervisor then decides about a restart: a ``LifecycleResult``.
    case kill(path: String)
    /// Pauses a coordinator or program and its descendants, so that messages to them wait: a ``LifecycleResult``.
    case pause(path: String)
    /// Resumes a coordinator or program that was paused by its own path: a ``LifecycleResult``.
    case resume(path: String)
    /// Asks on behalf of the coordinator at the path, so that the message climbs from there: an ``AskResult``.
    case ask(path: String, message: String, payload: JSONValue, timeout: Duration)
    /// Sends on behalf of the coordinator at the path: a ``SendResult``.
    case send(path: String, message: String, payload: JSONValue)
    /// Lists the messages and events that were dropped in the whole tree: a ``DeadLetterList``.
    case deadLetters
    /// Does nothing: an answer shows that the daemon runs.
    case ping
    /// Stops the tree and ends the daemon; with `now`, kills the processes that still run at once.
    case shutdown(now: Bool = false)

    /// The names of the operations on the wire.
    ///
    /// A new operation gets a name here; then the compiler demands that ``init(fields:)`` reads it.
    enum Name: String, CaseIterable {
        case tree, ps, status, start, stop, restart, kill, pause, resume, ask, send, ping, shutdown
        case deadLetters = "dead-letters"
    }

    /// The operation's name on the wire.
    public var name: String { wireName.rawValue }

    private var wireName: Name {
        switch self {
        case .tree: .tree
        case .ps: .ps
        case .status: .status
        case .start: .start
        case .stop: .stop
        case .restart: .restart
        case .kill: .kill
        case .pause: .pause
        case .resume: .resume
        case .ask: .ask
        case .send: .send
        case .deadLetters: .deadLetters
        case .ping: .ping
        case .shutdown: .shutdown
        }
    }

    /// The path that the operation is about; nil when it is about the daemon as a whole.
    public var path: String? {
        switch self {
        case .tree, .ps, .deadLetters, .ping, .shutdown: nil
        case .status(let path), .start(let path), .stop(let path), .restart(let path), .kill(let path), .pause(let path), .resume(let path),
            .ask(let path, _, _, _), .send(let path, _, _):
            path
        }
    }

    /// Whether the operation can change something, so that its effect differs when it is carried out twice.
    public var isMutating: Bool {
        switch self {
        case .tree, .ps, .status, .deadLetters, .ping: false
        case .start, .stop, .restart, .kill, .pause, .resume, .ask, .send, .shutdown: true
        }
    }

    /// Whether the operation looks at many coordinators, at a cost in proportion.
    var isDescription: Bool {
        switch self {
        case .tree, .ps, .status: true
        default: false
        }
    }

    /// Whether the operation is cancelled when its requester goes away.
    ///
    /// A change that has begun is carried out to its end instead.
    var endsWithItsRequester: Bool {
        if case .ask = self { true } else { !isMutating }
    }

    /// The time that a client waits for the answer when the caller gives no time-out.
    var defaultTimeout: Duration {
        switch self {
        case .tree, .ps, .status, .deadLetters, .ping, .send: .seconds(10)
        // A stop waits as long as the shutdown times in the subtree allow.
        case .start, .stop, .restart, .kill, .pause, .resume, .shutdown: .seconds(60)
        // The daemon reports the time-out itself, with more detail than the client can.
        case .ask(_, _, _, let timeout): timeout + .seconds(2)
        }
    }
}
