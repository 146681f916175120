public import WireProtocol

/// What an operator may ask of a daemon.
///
/// Paths are those of the tree, such as `/shop/cart`; `/` is the daemon's root.
public enum ControlOperation: Hashable, Sendable {
    /// The tree of coordinators: one ``TreeNode``.
    case tree
    /// The processes: a ``ProcessList``.
    case ps
    /// One coordinator or program with what is below it: a ``TreeNode``.
    case status(path: String)
    /// Starts what was stopped: a ``LifecycleResult``.
    case start(path: String)
    /// Stops it and what is below it: a ``LifecycleResult``.
    case stop(path: String)
    /// Stops and starts it: a ``LifecycleResult``.
    case restart(path: String)
    /// Kills its process; what becomes of it afterwards is its supervisor's decision: a ``LifecycleResult``.
    case kill(path: String)
    /// Pauses it and what is below it, so that what is sent to them waits: a ``LifecycleResult``.
    case pause(path: String)
    /// Resumes what was paused by its path: a ``LifecycleResult``.
    case resume(path: String)
    /// Asks as if from the coordinator at the path, so the question climbs from there: an ``AskResult``.
    case ask(path: String, message: String, payload: JSONValue, timeout: Duration)
    /// Sends as if from the coordinator at the path: a ``SendResult``.
    case send(path: String, message: String, payload: JSONValue)
    /// What was dropped in the whole tree: a ``DeadLetterList``.
    case deadLetters
    /// Nothing; that there is an answer is the answer.
    case ping
    /// Stops the tree and ends the daemon; `now`: whatever still runs is killed at once.
    case shutdown(now: Bool = false)

    /// The operation's name on the wire.
    public var name: String {
        switch self {
        case .tree: "tree"
        case .ps: "ps"
        case .status: "status"
        case .start: "start"
        case .stop: "stop"
        case .restart: "restart"
        case .kill: "kill"
        case .pause: "pause"
        case .resume: "resume"
        case .ask: "ask"
        case .send: "send"
        case .deadLetters: "dead-letters"
        case .ping: "ping"
        case .shutdown: "shutdown"
        }
    }

    /// The place that it is about; nil when it's the daemon as a whole.
    public var path: String? {
        switch self {
        case .tree, .ps, .deadLetters, .ping, .shutdown: nil
        case .status(let path), .start(let path), .stop(let path), .restart(let path), .kill(let path), .pause(let path), .resume(let path),
            .ask(let path, _, _, _), .send(let path, _, _):
            path
        }
    }

    /// Whether it may change something, so that carrying it out twice isn't the same as once.
    public var isMutating: Bool {
        switch self {
        case .tree, .ps, .status, .deadLetters, .ping: false
        case .start, .stop, .restart, .kill, .pause, .resume, .ask, .send, .shutdown: true
        }
    }

    /// Whether it looks at many coordinators, and costs as much.
    var isDescription: Bool {
        switch self {
        case .tree, .ps, .status: true
        default: false
        }
    }

    /// Whether it is cancelled when whoever requested it goes away.
    ///
    /// A change that was begun is carried out to its end instead.
    var endsWithItsRequester: Bool {
        if case .ask = self { true } else { !isMutating }
    }

    /// How long a client waits for the answer when its user didn't say.
    var defaultTimeout: Duration {
        switch self {
        case .tree, .ps, .status, .deadLetters, .ping, .send: .seconds(10)
        // A stop waits for the subtree's own shutdown times.
        case .start, .stop, .restart, .kill, .pause, .resume, .shutdown: .seconds(60)
        // The daemon's own answer, that the time is over, is better than ours.
        case .ask(_, _, _, let timeout): timeout + .seconds(2)
        }
    }
}
