/// An actor that owns one flow: its state and its children.
///
/// A coordinator is the unit of supervision.
///
/// A coordinator needs a `context` and the initialiser, and nothing else:
///
///     actor CartCoordinator: Coordinator {
///         let context: Context
///         init(_ context: Context) { self.context = context }
///     }
///
/// The runtime creates it, calls its hooks, and drops it. Hooks are plain user code: the bookkeeping is the runtime's, so there is
/// nothing to call on a superclass.
public protocol Coordinator: Actor {
    /// The configuration that the coordinator gets before it starts, and again at every restart.
    associatedtype Configuration: Codable & Sendable = NoConfiguration
    /// The value that the coordinator finishes with.
    associatedtype Output: Codable & Sendable = NoOutput
    /// The type of its children's keys.
    associatedtype ChildKey: CoordinatorKey = String
    /// The type of the events that its delegates get.
    associatedtype Event: Codable & Sendable = Never
    /// The type of the pages that it shows, the steps of its flow.
    associatedtype Page: Codable & Sendable & Equatable = Never

    /// The coordinator's handle on its parent, its children and the runtime.
    nonisolated var context: Context { get }

    /// The type of the coordinator's handle on its parent, its children and the runtime.
    typealias Context = CoordinatorContext<Self>

    /// The type of the coordinator's table of rows.
    typealias Responders = [Responder<Self>]

    /// Creates the coordinator. The initialiser only stores the context, and what it takes from the configuration; work belongs in `start`.
    ///
    /// The context already has its path, its configuration and its dependencies.
    ///
    /// The initialiser may run on the thread on which the parent starts the coordinator: one that takes long delays the parent.
    init(_ context: Context)

    /// The messages that the coordinator answers or intercepts, and the events that it observes. Empty by default.
    static var responders: Responders { get }

    /// The policy by which it restarts its children; read once in a process. By default `oneForOne`, at most five restarts in a minute.
    static var supervision: SupervisionPolicy { get }

    /// The limits of its mailbox; read once in a process. By default 1,024 handlers run and 1,024 messages wait, with 4 MiB together, after
    /// which senders wait.
    static var mailbox: MailboxPolicy { get }

    /// The time for which a handler may run on after its message was cancelled; read once in a process. By default five seconds.
    ///
    /// A message is cancelled when its deadline passes, when its asker is cancelled, and when the asker's process ends. A handler that runs on
    /// for longer is stuck: it holds its place among those that may run, and nothing inside of the process can end it. In a worker the
    /// process is therefore killed and restarted, with the reason `hung`; its other open asks end with `peerLost`. In the root's process the tree isn't ready
    /// from then on until the handler ends, see ``CoordinatorHealth`` and ``CoordinatorRuntime/Options/whenStuck``. A pool gives a member with
    /// such a handler nothing more.
    ///
    /// The time counts only while the process runs: not while a debugger or a signal has stopped it, nor while the handler waits for the start, the
    /// change or the end of a child. The handler of a one-way message counts only if the message is acknowledged: no one waits for any other.
    static var cancellationGrace: Duration { get }

    /// The time without work after which the coordinator ends by itself; read once in a process. By default `nil`: never.
    ///
    /// A coordinator works while it has a message that waits or runs, a running task, `run` hook or call of a timer, a child, a call of
    /// `after` that is still due, or a durable flow for whose end a call of `run` waits; calls of `every` don't count. A paused coordinator
    /// doesn't end. When it has had no work for this time, or up to half as long again, its parent removes it as one that was dismissed,
    /// whatever its restart type: a caller that runs it gets `dismissed`.
    ///
    /// No message is lost by that: the parent holds messages back while it asks whether the coordinator still has nothing to do. If one
    /// arrives meanwhile the coordinator goes on, or is restarted and handles it. A message that arrives later finds no child: a row that
    /// forwards has `open(section:)` start it again. The root of a tree, which has no parent, has no idle time-out.
    static var idleTimeout: Duration? { get }

    /// Runs once per incarnation, when the configuration is in place; the coordinator is ready when it returns.
    ///
    /// Descendants can already send messages meanwhile. If this throws, the start fails, and the caller of `CoordinatorContext.start` gets
    /// the error.
    func start() async throws

    /// Runs when the parent has changed the configuration, which is `context.configuration` already, in its turn among the messages.
    ///
    /// - Parameter former: The configuration before the change.
    /// - Returns: Whether the coordinator has taken the configuration, or is to be restarted with it, as it is by default.
    /// - Throws: An error that refuses the configuration: the former one stays, and the parent's call throws the error.
    func reconfigured(from former: Configuration) async throws -> Reconfiguration

    /// Runs from the time when the coordinator is ready until it stops, when the hook is cancelled; optional.
    ///
    /// Returning is the exit `normal`, throwing an abnormal one; the restart type decides what follows. The default waits for the stop.
    ///
    /// A stop with ``Shutdown/draining(_:)`` waits for the hook's end first, within its time, if that is the coordinator's own `shutdown` or the
    /// hook looks at ``CoordinatorContext/draining``.
    func run() async throws

    /// Runs once when the coordinator ends, after its children have ended and its handlers have been cancelled.
    func stopped() async

    /// Runs when the coordinator has been paused, by name or with an ancestor; from now on messages wait, until it's resumed.
    ///
    /// Handlers that have begun go on.
    func paused() async

    /// Runs when the coordinator has been resumed, before waiting messages begin.
    func resumed() async

    /// Runs when one of the coordinator's pages is on top again because the pages above it were removed by an event outside this
    /// coordinator.
    ///
    /// - Parameter page: The page that is on top; `nil` when the stack, which is this coordinator's, is empty.
    func popped(to page: Page?) async

    /// Starts a child that a deep link leads to, that is selected, or to which a message is forwarded, and that doesn't live. Throws
    /// `noSuchChild` by default.
    func open(section: ChildKey) async throws

    /// Shows the page that a deep link leads to. Shows it on top by default, unless it's there.
    func display(page: Page) async throws

    /// Runs, at the root only, once for each message that no coordinator responded to.
    func unhandled(_ message: UnhandledMessage) async
}

/// An error by which the runtime tells a coordinator without a `run` hook from one whose hook failed.
enum RunHook: Error { case absent }

/// The hooks that a type leaves to their defaults.
///
/// The default of such a hook notes it when it's first called, from which time on the runtime doesn't call the hook for coordinators of the
/// type: a start without hooks needs no task.
struct AbsentHooks: OptionSet {
    let rawValue: UInt8

    static let start = AbsentHooks(rawValue: 1 << 0)
    static let run = AbsentHooks(rawValue: 1 << 1)
    static let stopped = AbsentHooks(rawValue: 1 << 2)
    static let unhandled = AbsentHooks(rawValue: 1 << 3)
}

/// The output of a coordinator that finishes without a value.
public struct NoOutput: Codable, Sendable, Hashable {
    /// Creates the value.
    public init() {}
}

/// The key by which a parent names a child: a `String`, or an enum of strings, so that a misspelt key doesn't compile.
///
/// A key's description is its component in a path: not empty, without a slash, and different from that of every other key.
public protocol CoordinatorKey: Hashable, Sendable, LosslessStringConvertible {}

extension String: CoordinatorKey {}

extension CoordinatorKey where Self: RawRepresentable, RawValue == String {
    /// The raw value.
    public var description: String { rawValue }
    /// Creates the case with that raw value.
    public init?(_ description: String) { self.init(rawValue: description) }
}

/// A coordinator with a stack of pages of its own, which those below it share.
///
/// Without such a coordinator, all share the root's stack. When a child that shows the stack's first page requests its dismissal, the
/// request includes this coordinator and goes on to its parent.
public protocol NavigationCoordinator: Coordinator {}

/// A resource with an end: a connection, a session, a job.
public protocol Scene: Sendable {
    /// Ends the resource; closing it again does nothing.
    func close() async
    /// Returns when the resource has ended for any reason, or when the waiting task is cancelled.
    func waitUntilClosed() async
}

/// A coordinator that owns exactly one resource, its scene.
///
/// The scene is made in the initialiser and closed after the `stopped` hook. When it ends by itself, the coordinator requests its dismissal;
/// if the parent refuses, the coordinator goes on without its scene.
public protocol SceneCoordinator: Coordinator {
    /// The resource's type.
    associatedtype SceneType: Scene
    /// The resource, the same for the coordinator's whole life.
    nonisolated var scene: SceneType { get }
}
