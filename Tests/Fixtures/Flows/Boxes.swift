public import Coordinators

/// A coordinator with room for four messages; what happens to the fifth is its type's policy.
public protocol Box: Coordinator where Configuration == BoxConfiguration {}

public struct BoxConfiguration: CoordinatorConfiguration {
    public var notebook = Notebook()
    public init() {}
}

extension Box {
    static var rows: Responders {
        [.respond(to: Flow.Load.self) { me, load in me.context.configuration.notebook.note(me.context.path, "load \(load.number)") }]
    }
}

public actor WaitingBox: Box {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .wait)
    public static let responders = rows
}

public actor FailingBox: Box {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .fail)
    public static let responders = rows
}

public actor OldestDroppingBox: Box {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .dropOldest)
    public static let responders = rows
}

public actor NewestDroppingBox: Box {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .dropNewest)
    public static let responders = rows
}
