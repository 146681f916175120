/// How much may wait for a coordinator, and what happens to more.
///
///     static let mailbox = MailboxPolicy(messages: 64, bytes: 1 << 20, whenFull: .dropOldest)
///
/// Messages that wait and messages whose handlers run count alike. Bytes are those of the encoded payload, and of a value that was never
/// encoded the size of the value itself, without what it refers to, and 256 for each message. Lifecycle changes and control aren't counted and are never dropped.
public struct MailboxPolicy: Sendable, Hashable {
    /// What happens to a message that finds the mailbox full.
    public enum Overflow: String, Sendable, Hashable, Codable {
        /// Its sender waits: an ask until its deadline, a one-way send until there is room.
        case wait
        /// Its sender gets `mailboxFull`.
        case fail
        /// It's taken, and the oldest that waits goes to the dead letters; the asker of that one gets `mailboxFull`. Where all are running
        /// already, none waits, and this one is dropped.
        case dropOldest
        /// It goes to the dead letters; its asker gets `mailboxFull`, a one-way sender nothing.
        case dropNewest
    }

    /// How many messages.
    public var messages: Int
    /// How many bytes.
    public var bytes: Int
    /// What happens to more.
    public var whenFull: Overflow

    /// Creates a policy; by default 1,024 messages, 4 MiB, and senders wait.
    public init(messages: Int = 1_024, bytes: Int = 4 << 20, whenFull: Overflow = .wait) {
        self.messages = max(messages, 1)
        self.bytes = max(bytes, 1)
        self.whenFull = whenFull
    }
}
