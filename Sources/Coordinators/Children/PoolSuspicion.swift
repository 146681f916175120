/// The suspicion that a message is what ends the members of a pool that handle it.
///
/// The message may be given again, because it's idempotent. After the first end it could have caused, or a message beside it, it runs alone:
/// the guilty one is then known, and the others are not harmed by it.
struct PoolSuspicion {
    /// The decision about a message whose member has ended by itself while it handled the message.
    enum Verdict {
        /// The message is given to a member that handles nothing else.
        case again
        /// The message isn't given any more.
        case poisoned
    }

    /// The number of members that a message may end, the last two of which have handled nothing else.
    static let limit = 3

    /// The number of members that have ended.
    private(set) var deaths = 0

    /// Whether the message has to be alone with its member.
    var runsAlone: Bool { deaths > 0 }

    /// Notes that a member has ended by itself while it handled the message.
    mutating func memberDied() -> Verdict {
        deaths += 1
        return deaths < Self.limit ? .again : .poisoned
    }
}
