import ConcurrencySupport

extension Coordinator {
    /// An empty list: the coordinator responds to no message.
    public static var responders: Responders { [] }
    /// The default policy: `oneForOne`, at most five restarts in a minute.
    public static var supervision: SupervisionPolicy { SupervisionPolicy() }
    /// The default: five seconds.
    public static var cancellationGrace: Duration { .seconds(5) }
    /// The default: the coordinator doesn't end by itself when it has nothing to do.
    public static var idleTimeout: Duration? { nil }
    /// Does nothing.
    public func start() async throws { context.node.type.note(absent: .start) }
    /// Has the coordinator restarted.
    public func reconfigured(from former: Configuration) async throws -> Reconfiguration { .restart }
    /// Waits for the stop, without a task of its own: see `RunHook`.
    public func run() async throws {
        context.node.type.note(absent: .run)
        throw RunHook.absent
    }
    /// The default limits: 1,024 running handlers, 1,024 waiting messages and 4 MiB, after which senders wait.
    public static var mailbox: MailboxPolicy { MailboxPolicy() }
    /// Does nothing.
    public func stopped() async { context.node.type.note(absent: .stopped) }
    /// Does nothing.
    public func paused() async {}
    /// Does nothing.
    public func resumed() async {}
    /// Does nothing.
    public func popped(to page: Page?) async {}
    /// Throws `noSuchChild`: by default no section can be opened.
    public func open(section: ChildKey) async throws {
        throw CoordinatorError(
            .noSuchChild,
            "\(context.path) opens no section '\(section.description)' by itself: implement `open(section:)`"
        )
    }
    /// Does nothing.
    public func unhandled(_ message: UnhandledMessage) async { context.node.type.note(absent: .unhandled) }
}
