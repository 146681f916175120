/// The limits of a coordinator's mailbox, and the rule for messages beyond them.
///
///     static let mailbox = MailboxPolicy(running: 1, waiting: 64, whenFull: .dropOldest)
///
/// With `running: 1` the coordinator is serial: the next message begins when the handler of the former one has ended, though that handler
/// awaits. Three kinds of messages begin all the same: those of rows that interleave, those of `.stream` rows, and, while a handler waits
/// for other coordinators, those of the coordinator's own subtree, so that a descendant that is asked may ask back. At most 1,024 handlers of
/// each kind run beyond the limit. A body that doesn't await needs no place of its own, but begins only while one is free.
///
/// The bytes of a message are those of the encoded payload, or, of a value that was never encoded, the size of the value itself without the
/// objects that it refers to, and 640 for each message. Lifecycle changes, events of children and control aren't messages: no limit applies
/// to them, and they begin though handlers run.
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

    /// The number of handlers that may run at the same time; 1: the coordinator is serial.
    public var running: Int
    /// The number of messages that may wait until a handler may begin.
    public var waiting: Int
    /// The number of bytes that the waiting and the running messages may have together.
    public var bytes: Int
    /// The rule for messages beyond the limits.
    public var whenFull: Overflow

    /// Creates a policy; by default 1,024 handlers run, 1,024 messages wait, all have 4 MiB, and senders wait.
    public init(running: Int = 1_024, waiting: Int = 1_024, bytes: Int = 4 << 20, whenFull: Overflow = .wait) {
        self.running = max(running, 1)
        self.waiting = max(waiting, 1)
        self.bytes = max(bytes, 1)
        self.whenFull = whenFull
    }
}
