/// An actor that owns one flow: its state and its children.
///
/// The unit of supervision.
///
/// A coordinator needs a `context` and the initialiser, and nothing else:
///
///     actor CartCoordinator: Coordinator {
///         let context: Context<CartCoordinator>
///         init(_ context: Context<CartCoordinator>, _ configuration: Configuration) { self.context = context }
///     }
///
/// The runtime creates it, calls its hooks, and drops it. Hooks are plain user code: the bookkeeping is the runtime's, so there is
/// nothing to call on a superclass.
public protocol Coordinator: Actor {
    /// What the coordinator is given before it starts, and again at every restart.
    associatedtype Configuration: Codable & Sendable = NoConfiguration
    /// What it finishes with.
    associatedtype Output: Codable & Sendable = NoOutput
    /// How its children are called.
    associatedtype ChildKey: CoordinatorKey = String
    /// What it tells its delegates.
    associatedtype Event: Codable & Sendable = Never
    /// The steps of its flow that it shows.
    associatedtype Page: Codable & Sendable & Equatable = Never

    /// The coordinator's handle on its parent, its children and the runtime.
    nonisolated var context: Context<Self> { get }

    /// The uniform initialiser. It stores; work belongs into `start`.
    init(_ context: Context<Self>, _ configuration: Configuration)

    /// Which messages it answers or intercepts, and what it observes. Empty by default.
    static var responders: [Responder<Self>] { get }

    /// How it restarts its children. `oneForOne`, at most five restarts in a minute, by default; read once in a process.
    static var supervision: SupervisionPolicy { get }

    /// How much may wait for it. 1,024 messages and 4 MiB by default; senders wait for more. Read once in a process.
    static var mailbox: MailboxPolicy { get }

    /// Runs once per incarnation, when the configuration is in place; the coordinator is ready when it returns.
    ///
    /// The mailbox is open to descendants meanwhile. Throwing makes the start fail: the error reaches whoever started it.
    func start() async throws

    /// An optional long-lived hook, begun when the coordinator is ready and cancelled when it stops.
    ///
    /// Returning is the exit `normal`, throwing an abnormal one; the restart type decides what follows. The default waits for the stop.
    func run() async throws

    /// Runs once when the coordinator ends, after its children have ended and its handlers have been cancelled.
    func stop() async

    /// Runs when it has been paused, by name or with an ancestor; from now on messages wait, until it's resumed.
    ///
    /// Handlers that have begun go on.
    func pause() async

    /// Runs when it has been resumed, before what has waited begins.
    func resume() async

    /// Told when one of its pages is on top again, because what was above is gone by somebody else's doing.
    ///
    /// - Parameter page: `nil` when the stack, which is this coordinator's, is empty.
    func popped(to page: Page?) async

    /// Starts a child that a deep link leads to, or that is selected, and that doesn't live. Throws `noSuchChild` by default.
    func open(_ section: ChildKey) async throws

    /// Shows the page that a deep link leads to. Shows it on top by default, unless it's there.
    func display(_ page: Page) async throws

    /// Told once for each message that nobody responded to, at the root only.
    func unhandled(_ message: UnhandledMessage) async
}

extension Coordinator {
    /// No rows.
    public static var responders: [Responder<Self>] { [] }
    /// `oneForOne`, at most five restarts in a minute.
    public static var supervision: SupervisionPolicy { SupervisionPolicy() }
    /// Nothing to do.
    public func start() async throws {}
    /// Waits for the stop, without a task of its own: see `RunHook`.
    public func run() async throws { throw RunHook.absent }
    /// 1,024 messages and 4 MiB; senders wait for more.
    public static var mailbox: MailboxPolicy { MailboxPolicy() }
    /// Nothing to do.
    public func stop() async {}
    /// Nothing to do.
    public func pause() async {}
    /// Nothing to do.
    public func resume() async {}
    /// Nothing to do.
    public func popped(to page: Page?) async {}
    /// No section can be opened.
    public func open(_ section: ChildKey) async throws {
        throw CoordinatorError(.noSuchChild, "\(context.path) opens no section '\(section.pathComponent)' by itself: implement `open`")
    }
    /// Shows the page on top, unless it's there.
    public func display(_ page: Page) async throws {
        if context.pages.last != page { context.show(page) }
    }
    /// Nothing to do.
    public func unhandled(_ message: UnhandledMessage) async {}
}

/// How the runtime tells a coordinator without a `run` hook from one whose hook failed.
enum RunHook: Error { case absent }

/// A configuration with nothing in it.
public struct NoConfiguration: CoordinatorConfiguration {
    /// Creates it.
    public init() {}
}

/// The output of a coordinator that finishes with nothing.
public struct NoOutput: Codable, Sendable, Hashable {
    /// Creates it.
    public init() {}
}

/// A configuration whose fields all have defaults, so that a closure, a file or a foreign peer need give only what differs.
public protocol CoordinatorConfiguration: Codable, Sendable {
    /// Creates the configuration with its defaults.
    init()
}

/// How a parent calls a child: a `String`, or an enum of strings, so that a misspelt key doesn't compile.
public protocol CoordinatorKey: Hashable, Sendable {
    /// The key as one component of a path: not empty, without a slash.
    var pathComponent: String { get }
    /// The key that a path component stands for, if any.
    init?(pathComponent: String)
}

extension String: CoordinatorKey {
    /// The string itself.
    public var pathComponent: String { self }
    /// The component itself.
    public init?(pathComponent: String) { self = pathComponent }
}

extension CoordinatorKey where Self: RawRepresentable, RawValue == String {
    /// The raw value.
    public var pathComponent: String { rawValue }
    /// The case with that raw value.
    public init?(pathComponent: String) { self.init(rawValue: pathComponent) }
}
