public import Coordinators

/// A coordinator with room for four messages; what happens to the fifth is its type's policy.
public protocol Box: Coordinator {
    var configuration: BoxConfiguration { get }
}

public struct BoxConfiguration: CoordinatorConfiguration {
    public var notebook = Notebook()
    public init() {}
}

extension Box {
    static var rows: [Responder<Self>] {
        [.respond(to: Flow.Load.self) { me, load in me.configuration.notebook.note(me.context.path, "load \(load.number)") }]
    }
}

public actor WaitingBox: Box {
    public nonisolated let context: Context<WaitingBox>
    public let configuration: BoxConfiguration
    public init(_ context: Context<WaitingBox>, _ configuration: BoxConfiguration) {
        self.context = context
        self.configuration = configuration
    }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .wait)
    public static let responders = rows
}

public actor FailingBox: Box {
    public nonisolated let context: Context<FailingBox>
    public let configuration: BoxConfiguration
    public init(_ context: Context<FailingBox>, _ configuration: BoxConfiguration) {
        self.context = context
        self.configuration = configuration
    }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .fail)
    public static let responders = rows
}

public actor OldestDroppingBox: Box {
    public nonisolated let context: Context<OldestDroppingBox>
    public let configuration: BoxConfiguration
    public init(_ context: Context<OldestDroppingBox>, _ configuration: BoxConfiguration) {
        self.context = context
        self.configuration = configuration
    }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .dropOldest)
    public static let responders = rows
}

public actor NewestDroppingBox: Box {
    public nonisolated let context: Context<NewestDroppingBox>
    public let configuration: BoxConfiguration
    public init(_ context: Context<NewestDroppingBox>, _ configuration: BoxConfiguration) {
        self.context = context
        self.configuration = configuration
    }
    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .dropNewest)
    public static let responders = rows
}
