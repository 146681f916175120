/// The way of one traced message through the tree: who handled it, in which process, and how long each took.
public struct MessageTrace: Sendable {
    /// A row that has handled the message, or a message that its handler sent.
    public struct Hop: Sendable, Hashable, Codable {
        /// The coordinator whose row has handled the message.
        public var path: CoordinatorPath
        /// The type of that coordinator.
        public var type: String
        /// The number of the process in which the row ran.
        public var processID: Int32
        /// The name of the message.
        public var message: String
        /// The coordinator that sent the message.
        public var sender: CoordinatorPath
        /// The time at which the row began, since the ask began.
        public var began: Duration
        /// The time for which the message has waited in the coordinator's process until then.
        public var waited: Duration
        /// The time that the row took, with what it has awaited.
        public var took: Duration
        /// The error that the row threw.
        public var error: String?
    }

    /// The trace's identifier: 32 hexadecimal digits, as of https://www.w3.org/TR/trace-context/.
    public let identifier: String
    /// The hops in the order of their beginnings.
    public let hops: [Hop]
    /// The time that the ask took.
    public let duration: Duration
}

extension TraceContext {
    /// The beginning of the traces that operators ask for, by which the messages of others are told apart at no cost.
    private static let mark = "00-c007d1a7"

    /// Creates a trace for a message whose way is to be reported.
    static func reported() -> TraceContext {
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in Character(String(UInt8.random(in: 0..<16), radix: 16)) })
        }
        return TraceContext(traceparent: "\(mark)\(digits(24))-\(digits(16))-01")
    }

    /// Whether the way of the message is reported.
    var isReported: Bool { traceparent.hasPrefix(Self.mark) }

    /// The identifier of the trace: the second field.
    var identifier: String { traceparent.split(separator: "-").dropFirst().first.map(String.init) ?? "" }
}
