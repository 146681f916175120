/// The rule for which member of a pool gets a message.
///
/// A member gets no more messages at a time than its `MailboxPolicy` lets handlers run; the others wait in the pool.
public struct PoolRouting: Sendable, CustomStringConvertible {
    typealias Hash = @Sendable (Envelope) throws -> UInt64

    enum Rule: Sendable {
        case leastLoaded
        case roundRobin
        /// The functions that hash messages, by the messages' names.
        case hashing([String: Hash])
    }

    let rule: Rule
    /// The rule as text.
    public let description: String

    /// The member that has the fewest messages of the pool.
    public static let leastLoaded = PoolRouting(rule: .leastLoaded, description: "leastLoaded")

    /// The members in turn, except those that have as many messages as they take or don't run.
    public static let roundRobin = PoolRouting(rule: .roundRobin, description: "roundRobin")

    /// Returns a rule by which equal values of a message's property lead to the same member, as long as the pool has the same size and its
    /// parent's process lives.
    ///
    ///     in: .pool(4, .worker, routing: .hashing(\Render.scene, \Preview.scene))
    ///
    /// A resize moves as few values as possible to other members. Messages for a member that is being restarted wait for it. Messages of other
    /// types go to the member that has the fewest.
    ///
    /// - Parameter properties: The property of each type of messages. A message from another process is decoded for this, once more than it
    ///   would be.
    public static func hashing<each Message: ResponderMessage, each Value: Hashable & Sendable>(
        _ properties: repeat any KeyPath<each Message, each Value> & Sendable
    ) -> PoolRouting {
        var hashes: [String: Hash] = [:]
        var names: [String] = []
        repeat add(each properties, to: &hashes, &names)
        return PoolRouting(rule: .hashing(hashes), description: "hashing \(names.joined(separator: ", "))")
    }

    private static func add<Message: ResponderMessage, Value: Hashable & Sendable>(
        _ property: any KeyPath<Message, Value> & Sendable,
        to hashes: inout [String: Hash],
        _ names: inout [String]
    ) {
        names.append("\(Message.name) by \(property)")
        let hash: Hash = { envelope in
            var hasher = Hasher()
            hasher.combine(try envelope.message(as: Message.self)[keyPath: property])
            return UInt64(truncatingIfNeeded: hasher.finalize())
        }
        for name in Message.names + [Message.wireName] { hashes[name] = hash }
    }

    var takesTurns: Bool {
        if case .roundRobin = rule { true } else { false }
    }

    /// Whether a message may have to go to one certain member.
    var isHashing: Bool {
        if case .hashing = rule { true } else { false }
    }

    /// Returns the hash of a message; `nil` if any member may have it.
    func hash(of envelope: Envelope) throws -> UInt64? {
        guard case .hashing(let hashes) = rule else { return nil }
        let text = envelope.body.wireName
        if let hash = hashes[text] { return try hash(envelope) }
        guard WireNames.areSeveral(in: text) else { return nil }
        return try WireNames.all(in: text).lazy.compactMap { hashes[String($0)] }.first?(envelope)
    }
}
