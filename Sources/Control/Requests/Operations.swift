package import Processes
package import WireProtocol

extension ControlOperation {
    /// The types of all operations.
    ///
    /// A new operation is described below and gets a place here; then the compiler demands its handler in the daemon.
    package static let all = OperationList<
        Tree, ProcessListing, Status, History, Events, Logs, DeadLetters, Metrics, Ping, Start, Stop, Restart, Replace, Replacements, Scale,
        Kill, Pause, Resume, Signal, Ask, Trace, Send, ConfigurationDifference, ConfigurationApplication, Shutdown, Upgrade, Nodes, Where,
        Drain, Move, OnNode, Reload, Flows, Flow, FlowState, FlowRetry, FlowSkip,
        FlowCancel, FlowResume
    >()

    /// What the operations on a lifecycle do.
    private static let lifecycle: OperationTraits = [.changes, .goesToOwner, .coversDescendants]
    /// What the operations do that change one coordinator or program, and not its descendants.
    private static let onItsOwn: OperationTraits = [.changes, .goesToOwner]
    /// The patience for what waits for children, which have times of their own to stop and to start: without a limit, as long as the daemon
    /// answers questions meanwhile.
    private static let childrensTimes: Duration? = nil

    /// What people must know of an operation that ends with a start.
    package static let detailsOfStart = """
        Returns when the coordinator or program has been up for a second. If it ends before with exit code 0 and isn't to be restarted, the \
        start has succeeded: the end is printed, and the exit code is 0. Otherwise the start has failed: the reason is printed, and the \
        exit code is 1.
        """

    /// The largest number of a child's instances, as in the configuration file.
    package static let maximumInstances: Int64 = 1_000

    // MARK: - Looking

    package struct Tree: DescribedOperation {
        package typealias Answer = TreeNode
        package static let about = OperationDescription(Self(), "tree", .observe, does: .describes)
        package static let summary = "Show the tree of coordinators and programs."
    }
    package static let tree = ControlOperation(Tree())

    package struct ProcessListing: DescribedOperation {
        package typealias Answer = ProcessList
        package static let about = OperationDescription(Self(), "ps", .observe, does: [.describes, .asksNode])
        package static let summary = "Show the processes."
    }
    package static let ps = ControlOperation(ProcessListing())

    package struct Status: DescribedOperation {
        package typealias Answer = TreeNode
        package var path = ""
        package static let about = OperationDescription(Self(), "status", .observe, does: [.describes, .goesToOwner], .path(\.path))
        package static let summary = "Show coordinators or programs and their descendants."
    }
    package static func status(path: String) -> ControlOperation { ControlOperation(Status(path: path)) }

    package struct History: DescribedOperation {
        package typealias Answer = LifeHistory
        package var path = ""
        package static let about = OperationDescription(Self(), "history", .observe, does: .goesToOwner, .path(\.path))
        package static let summary = "Show the last lives of a coordinator or program, and how they ended."
    }
    package static func history(path: String) -> ControlOperation { ControlOperation(History(path: path)) }

    package struct Events: DescribedOperation {
        package typealias Answer = ControlEvent
        package var query = EventQuery()
        package static let about = OperationDescription(
            Self(),
            "events",
            .observe,
            does: [.streams, .asksNode],
            .number("after", \.query.after),
            .text("boot", \.query.boot),
            .number("since_ms", \.query.sinceMilliseconds),
            .path(\.query.path),
            .flag("follow", \.query.follows)
        )
        package static let summary = "Show what has happened in the tree."
    }
    package static func events(_ query: EventQuery) -> ControlOperation { ControlOperation(Events(query: query)) }

    package struct Logs: DescribedOperation {
        package typealias Answer = LogLine
        package var query = LogQuery(paths: [])
        package static let about = OperationDescription(
            Self(),
            "logs",
            .observe,
            does: [.streams, .goesToOwner],
            .paths(\.query.paths, atMost: LogQuery.maximumPaths),
            .number("lines", \.query.lines, atLeast: 0),
            .number("since_ms", \.query.sinceMilliseconds),
            .text("pattern", \.query.pattern),
            .flag("follow", \.query.follows)
        )
        package static let summary = "Show what children have written."
    }
    package static func logs(_ query: LogQuery) -> ControlOperation { ControlOperation(Logs(query: query)) }

    package struct DeadLetters: DescribedOperation {
        package typealias Answer = DeadLetterList
        package static let about = OperationDescription(Self(), "dead-letters", .observe, does: .asksNode)
        package static let summary = "Show the messages and events that were dropped, and why."
    }
    package static let deadLetters = ControlOperation(DeadLetters())

    package struct Metrics: DescribedOperation {
        package typealias Answer = TreeMetrics
        package static let about = OperationDescription(Self(), "metrics", .observe, does: .asksNode)
        package static let summary = "Show how long asks take, by path and message."
    }
    package static let metrics = ControlOperation(Metrics())

    /// Does nothing: an answer shows that the daemon runs.
    package struct Ping: DescribedOperation {
        package typealias Answer = JSONValue
        package static let about = OperationDescription(Self(), "ping", .observe)
    }
    package static let ping = ControlOperation(Ping())

    // MARK: - Lifecycles

    package struct Start: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "start",
            .operate,
            does: lifecycle,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Start stopped coordinators or programs."
        package static let details = ControlOperation.detailsOfStart
    }
    package static func start(path: String) -> ControlOperation { ControlOperation(Start(path: path)) }

    package struct Stop: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "stop",
            .operate,
            does: lifecycle,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Stop coordinators or programs and their descendants."
        package static let details =
            "A child that a cluster places is stopped on all nodes, and stays so whichever node is lost, until it's started."
    }
    package static func stop(path: String) -> ControlOperation { ControlOperation(Stop(path: path)) }

    package struct Restart: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "restart",
            .operate,
            does: lifecycle,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Stop coordinators or programs and start them again."
    }
    package static func restart(path: String) -> ControlOperation { ControlOperation(Restart(path: path)) }

    /// Replaces the life of a running coordinator or program by a new one that is prepared first, so that no request fails.
    package struct Replace: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "replace",
            .operate,
            does: lifecycle,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
    }
    package static func replace(path: String) -> ControlOperation { ControlOperation(Replace(path: path)) }

    /// Lists the paths that a rolling restart of a path replaces one after the other.
    package struct Replacements: DescribedOperation {
        package typealias Answer = PathList
        package var path = ""
        package static let about = OperationDescription(Self(), "replacements", .observe, does: .goesToOwner, .path(\.path))
    }
    package static func replacements(path: String) -> ControlOperation { ControlOperation(Replacements(path: path)) }

    package struct Scale: DescribedOperation {
        package typealias Answer = ScaleResult
        package var path = ""
        package var instances = 0
        package static let about = OperationDescription(
            Self(),
            "scale",
            .operate,
            does: .changes,
            patience: childrensTimes,
            .number("instances", \.instances, in: 0...maximumInstances),
            .path(\.path)
        )
        package static let summary = "Set the number of a child's instances in the running configuration."
    }
    package static func scale(path: String, instances: Int) -> ControlOperation {
        ControlOperation(Scale(path: path, instances: instances))
    }

    package struct Kill: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "kill",
            .operate,
            does: lifecycle,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Kill the processes of coordinators or programs; their supervisors decide about restarts."
    }
    package static func kill(path: String) -> ControlOperation { ControlOperation(Kill(path: path)) }

    package struct Pause: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "pause",
            .operate,
            does: lifecycle,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Pause coordinators or programs and their descendants."
        package static let details =
            "Messages to a paused coordinator wait as long as their senders do; a paused program gets no processor time."
    }
    package static func pause(path: String) -> ControlOperation { ControlOperation(Pause(path: path)) }

    package struct Resume: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "resume",
            .operate,
            does: onItsOwn,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Resume paused coordinators or programs."
        package static let details = "Each stays paused while one of its ancestors is."
    }
    package static func resume(path: String) -> ControlOperation { ControlOperation(Resume(path: path)) }

    package struct Signal: DescribedOperation {
        package typealias Answer = SignalResult
        package var path = ""
        package var incarnation: UInt64?
        package var signal: Int32 = 0
        package static let about = OperationDescription(
            Self(),
            "signal",
            .operate,
            does: onItsOwn,
            .number("signal", \.signal, in: 1...64),
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Send a signal to the processes of workers or programs."
    }
    package static func signal(path: String, signal: Int32) -> ControlOperation { ControlOperation(Signal(path: path, signal: signal)) }

    /// Has a program read its configuration again, as the `hooks` of the file say.
    package struct Reload: DescribedOperation {
        package typealias Answer = LifecycleResult
        package var path = ""
        package var incarnation: UInt64?
        package static let about = OperationDescription(
            Self(),
            "reload",
            .operate,
            does: onItsOwn,
            patience: childrensTimes,
            .path(\.path),
            .life(\.incarnation)
        )
        package static let summary = "Have programs read their configurations again."
        package static let details = """
            The way is the program's `reload` below `hooks` in the file: a signal, or a command, which has ended with exit code 0 when this \
            returns. For the daemon's own file see `config apply`.
            """
    }
    package static func reload(path: String) -> ControlOperation { ControlOperation(Reload(path: path)) }

    // MARK: - Messages

    package struct Ask: DescribedOperation {
        package typealias Answer = AskResult
        package var path = ""
        package var message = ""
        package var payload: JSONValue = [:]
        package var timeout = Duration.zero
        package static let about = OperationDescription(
            Self(),
            "ask",
            .operate,
            does: [.changes, .goesToOwner, .message],
            .timeout(\.timeout),
            .path(\.path),
            .text("message", \.message),
            .payload(\.payload)
        )
        package static let summary = "Ask on behalf of the coordinator at a path, and print the reply."
        /// The daemon reports the time-out itself, with more detail than the client can.
        package var patience: Duration? { timeout + .seconds(2) }
    }
    package static func ask(path: String, message: String, payload: JSONValue, timeout: Duration) -> ControlOperation {
        ControlOperation(Ask(path: path, message: message, payload: payload, timeout: timeout))
    }

    /// Asks as ``Ask`` does, and reports the way of the message.
    package struct Trace: DescribedOperation {
        package typealias Answer = TraceResult
        package var path = ""
        package var message = ""
        package var payload: JSONValue = [:]
        package var timeout = Duration.zero
        package static let about = OperationDescription(
            Self(),
            "trace",
            .operate,
            does: [.changes, .goesToOwner, .message],
            .timeout(\.timeout),
            .path(\.path),
            .text("message", \.message),
            .payload(\.payload)
        )
        package var patience: Duration? { timeout + .seconds(2) }
    }
    package static func trace(path: String, message: String, payload: JSONValue, timeout: Duration) -> ControlOperation {
        ControlOperation(Trace(path: path, message: message, payload: payload, timeout: timeout))
    }

    package struct Send: DescribedOperation {
        package typealias Answer = SendResult
        package var path = ""
        package var message = ""
        package var payload: JSONValue = [:]
        package static let about = OperationDescription(
            Self(),
            "send",
            .operate,
            does: [.changes, .goesToOwner, .message],
            .path(\.path),
            .text("message", \.message),
            .payload(\.payload)
        )
        package static let summary = "Send a message on behalf of the coordinator at a path."
    }
    package static func send(path: String, message: String, payload: JSONValue) -> ControlOperation {
        ControlOperation(Send(path: path, message: message, payload: payload))
    }

    // MARK: - Durable flows

    package struct Flows: DescribedOperation {
        package typealias Answer = FlowList
        /// The flows that can be asked for.
        package enum Selection: String, CaseIterable, Sendable { case open, parked, due, finished }

        package var path = ""
        /// The flows that are meant, a ``Selection``; nil: all.
        package var selection: String?
        /// The path after which they begin; nil: from the first on.
        package var after: String?
        package var limit: Int?
        package static let about = OperationDescription(
            Self(),
            "flows",
            .observe,
            does: [.describes, .goesToOwner],
            .path(\.path),
            .text("selection", \.selection),
            .text("after", \.after),
            .number("limit", \.limit, atLeast: 1)
        )
        package static let summary = "Show the durable flows of the stores at a path and below."
    }
    package static func flows(path: String, selection: String? = nil, after: String? = nil, limit: Int? = nil) -> ControlOperation {
        ControlOperation(Flows(path: path, selection: selection, after: after, limit: limit))
    }

    package struct Flow: DescribedOperation {
        package typealias Answer = FlowList.Entry
        package var path = ""
        package static let about = OperationDescription(Self(), "flow", .observe, does: .goesToOwner, .path(\.path))
        package static let summary = "Show the pages, attempts, errors and times of durable flows."
    }
    package static func flow(path: String) -> ControlOperation { ControlOperation(Flow(path: path)) }

    package struct FlowState: DescribedOperation {
        package typealias Answer = FlowList.Entry
        package var path = ""
        package static let about = OperationDescription(Self(), "flow-state", .operate, does: .goesToOwner, .path(\.path))
        package static let summary = "Show durable flows with their states."
    }

    /// The patience for what may have to start the flow's coordinator first.
    private static let flowsStart = Duration.seconds(40)

    package struct FlowRetry: DescribedOperation {
        package typealias Answer = FlowList.Entry
        package var path = ""
        package static let about = OperationDescription(Self(), "flow-retry", .operate, does: onItsOwn, patience: flowsStart, .path(\.path))
        package static let summary = "Try the work of flows that are parked, or wait for their next attempt, again at once."
    }

    package struct FlowSkip: DescribedOperation {
        package typealias Answer = FlowList.Entry
        package var path = ""
        /// The number of the page that is meant; nil: whichever it is.
        package var page: UInt64?
        /// The state that the flow has after that; nil: as before.
        package var state: JSONValue?
        package static let about = OperationDescription(
            Self(),
            "flow-skip",
            .operate,
            does: onItsOwn,
            patience: flowsStart,
            .path(\.path),
            .number("page", \.page),
            .value("state", \.state)
        )
        package static let summary = "Say that the pages that flows work on were performed, or undone, outside of them."
        package static let details =
            "With the number of a page, as `flow` prints it, nothing changes if the flow has gone on. With a state the flow goes on from that one, if its type can read it; `flow show --state` prints the present one."
    }
    package static func flowSkip(path: String, page: UInt64? = nil, state: JSONValue? = nil) -> ControlOperation {
        ControlOperation(FlowSkip(path: path, page: page, state: state))
    }

    package struct FlowCancel: DescribedOperation {
        package typealias Answer = FlowList.Entry
        package var path = ""
        /// The reason, which whoever waits for the flow gets.
        package var reason: String?
        package static let about = OperationDescription(
            Self(),
            "flow-cancel",
            .operate,
            does: onItsOwn,
            patience: flowsStart,
            .path(\.path),
            .text("reason", \.reason)
        )
        package static let summary = "Have flows undo all that they have done."
        package static let details = "A page whose outcome isn't known is performed before that."
    }
    package static func flowCancel(path: String, reason: String? = nil) -> ControlOperation {
        ControlOperation(FlowCancel(path: path, reason: reason))
    }

    package struct FlowResume: DescribedOperation {
        package typealias Answer = FlowList.Entry
        package var path = ""
        package static let about = OperationDescription(
            Self(),
            "flow-resume",
            .operate,
            does: onItsOwn,
            patience: flowsStart,
            .path(\.path)
        )
        package static let summary = "Start the coordinators of flows that don't live."
    }

    // MARK: - The daemon

    package struct ConfigurationDifference: DescribedOperation {
        package typealias Answer = ConfigurationChanges
        /// The file; nil stands for the daemon's own.
        package var file: String?
        package static let about = OperationDescription(Self(), "config-diff", .observe, patience: .seconds(15), .file(\.file))
        package static let summary = "Show what `config apply` would change; changes nothing."
        /// A file that the requester names says what the daemon runs, and as whom.
        package var role: OperatorRole { file == nil ? .observe : .administer }
    }
    package static func configurationDifference(file: String?) -> ControlOperation { ControlOperation(ConfigurationDifference(file: file)) }

    package struct ConfigurationApplication: DescribedOperation {
        package typealias Answer = ConfigurationChanges
        /// The file; nil stands for the daemon's own.
        package var file: String?
        package static let about = OperationDescription(
            Self(),
            "config-apply",
            .administer,
            does: .changes,
            patience: childrensTimes,
            .file(\.file)
        )
        package static let summary = "Have the running daemon follow its configuration file, or another one."
    }
    package static func configurationApplication(file: String?) -> ControlOperation {
        ControlOperation(ConfigurationApplication(file: file))
    }

    package struct Shutdown: DescribedOperation {
        package typealias Answer = JSONValue
        /// Whether the processes that still run are killed at once.
        package var now = false
        package static let about = OperationDescription(
            Self(),
            "shutdown",
            .administer,
            does: .changes,
            patience: childrensTimes,
            .flag("now", \.now)
        )
        package static let summary = "Stop the tree and end the daemon."
    }
    package static func shutdown(now: Bool = false) -> ControlOperation { ControlOperation(Shutdown(now: now)) }

    package struct Upgrade: DescribedOperation {
        package typealias Answer = UpgradeResult
        /// The executable; nil stands for the one at the daemon's path.
        package var executable: String?
        /// The time for which open requests and asks are waited for.
        package var wait = Duration.zero
        /// Whether nothing is done but the checks.
        package var isDryRun = false
        package static let about = OperationDescription(
            Self(),
            "upgrade",
            .administer,
            does: .changes,
            .milliseconds("wait_ms", \.wait, atLeast: 0, default: 30_000),
            .file(\.executable),
            .flag("dry_run", \.isDryRun)
        )
        package static let summary = "Have the running daemon go on as another executable, without touching its children."
        package var traits: OperationTraits { isDryRun ? [] : .changes }
        /// The check, the start of the next program and its adoption of the workers take their time.
        package var patience: Duration? { wait + .seconds(60) }
    }
    package static func upgrade(executable: String?, wait: Duration, isDryRun: Bool = false) -> ControlOperation {
        ControlOperation(Upgrade(executable: executable, wait: wait, isDryRun: isDryRun))
    }

    // MARK: - The cluster

    package struct Nodes: DescribedOperation {
        package typealias Answer = NodeList
        package static let about = OperationDescription(Self(), "nodes", .observe)
        package static let summary = "Show the nodes of the cluster and what they own."
    }
    package static let nodes = ControlOperation(Nodes())

    package struct Where: DescribedOperation {
        package typealias Answer = SubtreeLocation
        package var path = ""
        package static let about = OperationDescription(Self(), "where", .observe, .path(\.path))
        package static let summary = "Show the node on which a subtree of the cluster is."
    }
    package static func location(path: String) -> ControlOperation { ControlOperation(Where(path: path)) }

    package struct Drain: DescribedOperation {
        package typealias Answer = NodeList
        package var node = ""
        package var isDraining = true
        package static let about = OperationDescription(
            Self(),
            "drain",
            .operate,
            does: .changes,
            .text("node", \.node),
            .flag("drain", \.isDraining, default: true)
        )
        package static let summary = "Have a node of the cluster give its subtrees over and take none."
        package static let summaryOfTheEnd = "Let a node of the cluster that drains take subtrees again."
    }
    package static func drain(node: String, isDraining: Bool) -> ControlOperation {
        ControlOperation(Drain(node: node, isDraining: isDraining))
    }

    package struct Move: DescribedOperation {
        package typealias Answer = SubtreeLocation
        package var path = ""
        /// The node; nil lets the subtree go where it's placed.
        package var node: String?
        package static let about = OperationDescription(
            Self(),
            "move",
            .operate,
            does: .changes,
            patience: childrensTimes,
            .path(\.path),
            .text("node", \.node)
        )
        package static let summary = "Move a subtree of the cluster to a node, and pin it there."
        package static let summaryOfTheEnd = "Take the pin of a subtree of the cluster away."
    }
    package static func move(path: String, node: String?) -> ControlOperation { ControlOperation(Move(path: path, node: node)) }

    /// Has a node of the cluster answer what is asked about a node as a whole, see ``isNodeQuestion``: what the question gives.
    package struct OnNode: DescribedOperation {
        package typealias Answer = JSONValue
        package var node = ""
        package var question = ControlOperation.ps
        package static let about = OperationDescription(Self(), "on-node", .observe, .text("node", \.node), .question(\.question))
        package var role: OperatorRole { question.role }
        package var traits: OperationTraits { question.content.traits.subtracting(.asksNode) }
        /// The daemon that passes the question on has to reach the other one.
        package var patience: Duration? { question.defaultTimeout.map { $0 + .seconds(5) } }
    }
    package static func onNode(_ node: String, _ question: ControlOperation) -> ControlOperation {
        ControlOperation(OnNode(node: node, question: question))
    }
}
