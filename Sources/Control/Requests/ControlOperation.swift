public import Processes
import WireProtocol

/// An operation that an operator requests of a daemon.
///
/// Paths are those of the tree, such as `/shop/cart`; `/` is the daemon's root. Each operation is a ``DescribedOperation`` whose type is nested
/// here; ``all`` lists the types.
public struct ControlOperation: Hashable, Sendable {
    /// The operation itself, with its arguments.
    package let content: any DescribedOperation

    /// Creates a request for an operation.
    package init(_ content: some DescribedOperation) { self.content = content }

    /// Whether the two are the same operation with the same arguments.
    public static func == (first: ControlOperation, second: ControlOperation) -> Bool { first.content.isEqual(to: second.content) }

    /// Hashes the name and the arguments.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        content.hash(into: &hasher)
    }

    /// The types of all operations.
    static var types: [any DescribedOperation.Type] { all.types }

    private static let named = Dictionary(uniqueKeysWithValues: types.map { ($0.name, $0) })

    /// Reads the operation of a request; skips unknown fields, so that later versions can add some.
    init(fields: RequestFields) throws(ControlError) {
        let text = try fields.text("op")
        guard let type = Self.named[text] else {
            throw ControlError(.invalidRequest, "this daemon has no operation `\(text.prefix(60))`; see `coordinatorctl help`")
        }
        self = try type.read(fields)
    }

    /// The fields of a request that describe the operation: its name and its arguments.
    var fields: [String: JSONValue] { content.fields }

    /// The operation's name on the wire.
    public var name: String { type(of: content).name }

    /// Whether the operation only looks, at what one node of a cluster has as a whole: its processes, events, dead letters or metrics.
    public var isNodeQuestion: Bool { content.traits.contains(.asksNode) }

    /// Returns the same question to another node of the cluster.
    ///
    /// - Parameter node: The node's name; nil stands for the node that gets the request.
    public func on(_ node: String?) -> ControlOperation { node.map { .onNode($0, self) } ?? self }

    /// The path that the operation is about; nil when it is about the daemon as a whole.
    public var path: String? { content.subject }

    /// The number of the life at the path that the operation is meant for; nil: whichever it is.
    package var meantLife: UInt64? { content.meantLife }

    /// The paths that an operator names in the arguments, also of a question to another node.
    package var operands: [String] { (content as? OnNode)?.question.operands ?? content.operands }

    /// Returns the operation on other paths: one that takes a list of them, or one for each.
    package func on(paths: [String]) -> [ControlOperation] {
        guard let other = content as? OnNode else { return content.on(paths: paths) }
        return other.question.on(paths: paths).map { .onNode(other.node, $0) }
    }

    /// The role that an operator needs for the operation.
    ///
    /// It's all that decides what an operator may do, however the request has come.
    public var role: OperatorRole { content.role }

    /// Whether the operation can change something, so that its effect differs when it is carried out twice.
    public var isMutating: Bool { content.traits.contains(.changes) }

    /// Whether the log and the events tell of the operation: it can change something, or, as the check before an upgrade, runs what the
    /// operator names.
    public var isRecorded: Bool { type(of: content).traits.contains(.changes) }

    /// Whether the operation is a message to a coordinator.
    public var isMessage: Bool { content.traits.contains(.message) }

    /// Whether the operation is carried out by the node of the cluster that has what it's about.
    public var goesToOwner: Bool { content.traits.contains(.goesToOwner) }

    /// Whether the operation looks at many coordinators, at a cost in proportion.
    var isDescription: Bool { content.traits.contains(.describes) }

    /// Whether the answer is a stream of items, of any length, which a result ends.
    public var isStream: Bool { content.traits.contains(.streams) }

    var isUpgrade: Bool { content is Upgrade }

    /// The time for which the requester waits for a coordinator's reply; nil of all but a message that has one.
    public var replyTimeout: Duration? { content.replyTimeout }

    /// Returns the same message with another time for its reply.
    public func limited(to time: Duration) -> ControlOperation { content.limited(to: time) }

    /// Whether the operation is cancelled when its requester goes away.
    ///
    /// A change that has begun is carried out to its end instead.
    var endsWithItsRequester: Bool { !isMutating || replyTimeout != nil }

    /// The time that a client waits for the answer when the caller gives no time-out; nil: as long as the daemon answers questions.
    var defaultTimeout: Duration? { content.patience }
}
