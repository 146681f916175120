public import Coordinators

/// A coordinator with room for four messages; what happens to the fifth is its type's policy.
public protocol RoomForFour: Coordinator where Configuration == NotebookConfiguration {}

extension RoomForFour {
    static var rows: Responders { [.respond(to: FixtureFlow.Load.self) { me, load in me.note("load \(load.number)") }] }
}

public actor WaitingBox: RoomForFour {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .wait)
    public static let responders = rows
}

public actor FailingBox: RoomForFour {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .fail)
    public static let responders = rows
}

public actor OldestDroppingBox: RoomForFour {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .dropOldest)
    public static let responders = rows
}

public actor NewestDroppingBox: RoomForFour {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .dropNewest)
    public static let responders = rows
}
