public import Processes
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
    /// Replaces the life of a running coordinator or program by a new one that is prepared first, so that no request fails: a
    /// ``LifecycleResult``.
    case replace(path: String)
    /// Lists the paths that a rolling restart of a path replaces one after the other: a ``PathList``.
    case replacements(path: String)
    /// Sets the number of a child's `instances` in the running configuration: a ``ScaleResult``.
    case scale(path: String, instances: Int)
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
    /// Tells the times that asks have taken in the whole tree: a ``TreeMetrics``.
    case metrics
    /// Does nothing: an answer shows that the daemon runs.
    case ping
    /// Stops the tree and ends the daemon; with `now`, kills the processes that still run at once.
    case shutdown(now: Bool = false)
    /// Sends a signal to the process of a worker or a program: a ``SignalResult``.
    case signal(path: String, signal: Int32)
    /// Asks as ``ask(path:message:payload:timeout:)``, and reports the way of the message: a ``TraceResult``.
    case trace(path: String, message: String, payload: JSONValue, timeout: Duration)
    /// Compares a configuration file, by default the daemon's, with the running configuration: ``ConfigurationChanges``.
    case configurationDifference(file: String?)
    /// Has the tree follow a configuration file, by default the daemon's: ``ConfigurationChanges``.
    case configurationApplication(file: String?)
    /// Sends the lines that children have written: a stream of ``LogLine``.
    case logs(LogQuery)
    /// Sends the events of the tree: a stream of ``ControlEvent``.
    case events(EventQuery)
    /// Has another executable, by default the one at the daemon's path, take the daemon's place in the same process: an ``UpgradeResult``.
    ///
    /// `wait`: the time for which open requests and asks are waited for; `isDryRun`: whether nothing is done but the checks.
    case upgrade(executable: String?, wait: Duration, isDryRun: Bool = false)
    /// Lists the last lives of a coordinator or program: a ``LifeHistory``.
    case history(path: String)
    /// Lists the nodes of the cluster: a ``NodeList``.
    case nodes
    /// Tells the node on which a subtree of the cluster is: a ``Whereabouts``.
    case whereabouts(path: String)
    /// Has a node give its subtrees over and take none, or take some again: a ``NodeList`` with that node.
    case drain(node: String, isDraining: Bool)
    /// Pins a subtree of the cluster to a node, or lets it go where it's placed: a ``Whereabouts``.
    case move(path: String, node: String?)
    /// Has a node of the cluster answer what is asked about a node as a whole, see ``isNodeQuestion``: what the question gives.
    indirect case onNode(String, ControlOperation)

    /// The names of the operations on the wire.
    ///
    /// A new operation gets a name here; then the compiler demands that ``init(fields:)`` reads it.
    enum Name: String, CaseIterable {
        case tree, ps, status, start, stop, restart, replace, replacements, scale, kill, pause, resume, ask, send, ping, shutdown, signal
        case trace, logs, events, history, upgrade, metrics, nodes, drain, move
        case whereabouts = "where"
        case deadLetters = "dead-letters"
        case onNode = "on-node"
        case configurationDifference = "config-diff"
        case configurationApplication = "config-apply"
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
        case .replace: .replace
        case .replacements: .replacements
        case .scale: .scale
        case .kill: .kill
        case .pause: .pause
        case .resume: .resume
        case .ask: .ask
        case .send: .send
        case .deadLetters: .deadLetters
        case .metrics: .metrics
        case .ping: .ping
        case .shutdown: .shutdown
        case .signal: .signal
        case .trace: .trace
        case .configurationDifference: .configurationDifference
        case .configurationApplication: .configurationApplication
        case .logs: .logs
        case .events: .events
        case .history: .history
        case .upgrade: .upgrade
        case .nodes: .nodes
        case .whereabouts: .whereabouts
        case .drain: .drain
        case .move: .move
        case .onNode: .onNode
        }
    }

    /// Whether the operation only looks, at what one node of a cluster has as a whole: its processes, events, dead letters or metrics.
    public var isNodeQuestion: Bool {
        switch self {
        case .ps, .events, .deadLetters, .metrics: true
        default: false
        }
    }

    /// Returns the same question to another node of the cluster.
    ///
    /// - Parameter node: The node's name; nil stands for the node that gets the request.
    public func on(_ node: String?) -> ControlOperation { node.map { .onNode($0, self) } ?? self }

    /// The path that the operation is about; nil when it is about the daemon as a whole.
    public var path: String? {
        switch self {
        case .tree, .ps, .deadLetters, .metrics, .ping, .shutdown, .logs, .nodes, .drain, .onNode: nil
        case .events(let query): query.path
        case .status(let path), .start(let path), .stop(let path), .restart(let path), .kill(let path), .pause(let path), .resume(let path),
            .ask(let path, _, _, _), .send(let path, _, _), .signal(let path, _), .trace(let path, _, _, _), .history(let path),
            .replace(let path), .replacements(let path), .scale(let path, _), .whereabouts(let path), .move(let path, _):
            path
        case .configurationDifference, .configurationApplication, .upgrade: nil
        }
    }

    /// The role that an operator needs for the operation.
    ///
    /// It's all that decides what an operator may do, however the request has come.
    public var role: OperatorRole {
        switch self {
        case .tree, .ps, .status, .replacements, .deadLetters, .metrics, .ping, .logs, .events, .history, .nodes, .whereabouts,
            .configurationDifference(file: nil):
            .observe
        case .start, .stop, .restart, .replace, .scale, .kill, .pause, .resume, .ask, .send, .trace, .signal, .drain, .move: .operate
        // A file that the requester names says what the daemon runs, and as whom.
        case .shutdown, .configurationDifference(file: .some), .configurationApplication, .upgrade: .administer
        case .onNode(_, let question): question.role
        }
    }

    /// Whether the operation can change something, so that its effect differs when it is carried out twice.
    public var isMutating: Bool {
        switch self {
        case .tree, .ps, .status, .replacements, .deadLetters, .metrics, .ping, .logs, .events, .history, .nodes, .whereabouts: false
        case .start, .stop, .restart, .replace, .scale, .kill, .pause, .resume, .ask, .send, .shutdown, .signal, .trace, .drain, .move: true
        case .configurationDifference: false
        case .onNode(_, let question): question.isMutating
        case .configurationApplication: true
        case .upgrade(_, _, let isDryRun): !isDryRun
        }
    }

    /// Whether the operation looks at many coordinators, at a cost in proportion.
    var isDescription: Bool {
        switch self {
        case .tree, .ps, .status: true
        case .onNode(_, let question): question.isDescription
        default: false
        }
    }

    /// Whether the answer is a stream of items, of any length, which a result ends.
    public var isStream: Bool {
        switch self {
        case .logs, .events: true
        case .onNode(_, let question): question.isStream
        default: false
        }
    }

    /// Whether the operation is cancelled when its requester goes away.
    ///
    /// A change that has begun is carried out to its end instead.
    var endsWithItsRequester: Bool {
        switch self {
        case .ask, .trace: true
        default: !isMutating
        }
    }

    /// The time that a client waits for the answer when the caller gives no time-out.
    var defaultTimeout: Duration {
        switch self {
        case .tree, .ps, .status, .replacements, .deadLetters, .metrics, .ping, .send, .signal, .logs, .events, .history, .nodes,
            .whereabouts, .drain, .move:
            .seconds(10)
        // A stop waits as long as the shutdown times in the subtree allow.
        case .start, .stop, .restart, .kill, .pause, .resume, .shutdown: .seconds(60)
        // The daemon reports the time-out itself, with more detail than the client can.
        case .ask(_, _, _, let timeout), .trace(_, _, _, let timeout): timeout + .seconds(2)
        // The daemon gives the file ten seconds to be read.
        case .configurationDifference: .seconds(15)
        // A life that is replaced, and each child that is removed, has its shutdown time.
        case .replace, .scale, .configurationApplication: .seconds(300)
        // The check, the start of the next program and its adoption of the workers.
        case .upgrade(_, let wait, _): wait + .seconds(60)
        // The daemon that passes the question on has to reach the other one.
        case .onNode(_, let question): question.defaultTimeout + .seconds(5)
        }
    }
}
