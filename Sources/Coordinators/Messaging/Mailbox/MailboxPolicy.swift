/// The limits of a coordinator's mailbox, and the rule for messages beyond them.
///
///     static let mailbox = MailboxPolicy(messages: 64, bytes: 1 << 20, whenFull: .dropOldest)
///
/// Messages that wait and messages whose handlers run count alike. The bytes of a message are those of the encoded payload, or, of a value
/// that was never encoded, the size of the value itself without the objects that it refers to, and 256 for each message. Lifecycle changes
/// and control aren't counted and are never dropped.
public struct MailboxPolicy: Sendable, Hashable {
    /// The rule for a message that finds the mailbox full.
    public enum Overflow: String, Sendable, Hashable, Codable {
        /// Its sender waits: an ask until its deadline, a one-way send until there is room.
        case wait
        /// Its sender gets `mailboxFull`.
        case fail
        /// The message is accepted, and the oldest waiting one goes to the dead letters; its asker gets `mailboxFull`. Where all are
        /// running already, none waits, and the new message is dropped.
        case dropOldest
        /// The message goes to the dead letters; its asker gets `mailboxFull`, a one-way sender nothing.
        case dropNewest
    }

    /// The number of messages that may wait or run.
    public var messages: Int
    /// The number of bytes that they may have together.
    public var bytes: Int
    /// The rule for messages beyond the limits.
    public var whenFull: Overflow

    /// Creates a policy; by default 1,024 messages, 4 MiB, and senders wait.
    public init(messages: Int = 1_024, bytes: Int = 4 << 20, whenFull: Overflow = .wait) {
        self.messages = max(messages, 1)
        self.bytes = max(bytes, 1)
        self.whenFull = whenFull
    }
}
