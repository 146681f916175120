package import ConcurrencySupport
public import WireProtocol

/// The patience of a client: the time that it has for all that it does, and what a person is told of operations that wait for children.
///
/// Children have times of their own to stop and to start, which are the operation's, however long they are. So the client waits as long as the
/// daemon answers questions meanwhile: by the answers it also tells a person what is being waited for.
public struct ClientPatience {
    /// The time after which a person is told for the first time what is being waited for.
    static let moment = Duration.seconds(3)
    /// The time between two questions.
    static let interval = Duration.seconds(5)
    /// The time within which the daemon has to take a connection, and to answer a question: 10 s.
    public static let answerLimit = Duration.seconds(10)
    /// The time for which an operation is waited for that is only to be begun: most refusals come within it.
    static let beginning = Duration.milliseconds(200)

    /// The time after which nothing is waited for any more, and nothing is sent; nil: any.
    public let limit: Duration?
    /// The end of that time, which begins with the patience.
    package let end: MonotonicTime
    /// Whether the operation only has to be begun.
    public var isForBeginning: Bool
    /// The function that gets the operations whose results haven't come, and the tree, or its part that the one operation is about.
    public var tell: (([ControlOperation], JSONValue) -> Void)?

    /// Creates a patience.
    public init(limit: Duration? = nil, isForBeginning: Bool = false, tell: (([ControlOperation], JSONValue) -> Void)? = nil) {
        let end = limit.map { MonotonicTime.now + $0 } ?? .distantFuture
        self.init(limit: limit, until: end, isForBeginning: isForBeginning, tell: tell)
    }

    /// Creates a patience for a part of what a command does, in a time that the parts share.
    package init(
        limit: Duration?,
        until end: MonotonicTime,
        isForBeginning: Bool,
        tell: (([ControlOperation], JSONValue) -> Void)?
    ) {
        (self.limit, self.end, self.isForBeginning, self.tell) = (limit, end, isForBeginning, tell)
    }

    /// The time until the first question.
    var first: Duration { isForBeginning ? Self.beginning : Self.moment }
}

extension ControlOperation {
    /// The question that tells what these operations wait for.
    static func look(at operations: [ControlOperation]) -> ControlOperation {
        guard operations.count == 1, let path = operations[0].path, operations[0].goesToOwner else { return .tree }
        return .status(path: path)
    }
}
