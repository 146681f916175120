import ConcurrencySupport

/// A message that waits until it can be delivered.
protocol Parked: Sendable {
    var envelope: Envelope { get }
}

/// The messages that wait for a child, or for the way up, bounded and in order.
struct MessageParking<Message: Parked> {
    /// The number of messages that may wait.
    static var limit: Int { 1_024 }
    /// The number of bytes that those messages may have together; a single message may wait whatever its size.
    static var bytesLimit: Int { 4 << 20 }

    private(set) var messages: [Message] = []
    /// The number of messages at the front that have come back from an ended link: they are older than all later ones.
    private var returned = 0
    /// The bytes of the others.
    private var bytes = 0
    /// Whether a thread delivers the messages that have waited; newer messages can't overtake them.
    var isBeingDelivered = false

    /// Whether there is a message that isn't delivered yet.
    var isBusy: Bool { !messages.isEmpty || isBeingDelivered }

    /// Takes a message, if there is room.
    mutating func park(_ message: Message) -> Bool {
        // A message whose asker has given up takes no room.
        if !hasRoom(for: message.envelope) { _ = remove(where: \.isWithdrawn) }
        guard hasRoom(for: message.envelope) else { return false }
        messages.append(message)
        bytes += message.envelope.size
        return true
    }

    /// Takes a delivered message back, before all later ones, and in order with the others that have come back.
    mutating func takeBack(_ message: Message) {
        // They come back from several links and threads, each in order.
        var place = returned
        while place > 0, messages[place - 1].envelope.arrived > message.envelope.arrived { place -= 1 }
        messages.insert(message, at: place)
        returned += 1
    }

    /// Removes and returns all messages.
    mutating func removeAll() -> [Message] {
        defer { (messages, returned, bytes) = ([], 0, 0) }
        return messages
    }

    /// Removes and returns the messages whose envelopes satisfy the condition.
    mutating func remove(where isUnwanted: (Envelope) -> Bool) -> [Message] {
        remove { (message: Message) in isUnwanted(message.envelope) }
    }

    /// Removes and returns the messages that satisfy the condition.
    mutating func remove(_ isUnwanted: (Message) -> Bool) -> [Message] {
        guard messages.contains(where: isUnwanted) else { return [] }
        var removed: [Message] = []
        var others = Self(isBeingDelivered: isBeingDelivered)
        for (place, message) in messages.enumerated() {
            if isUnwanted(message) {
                removed.append(message)
            } else {
                others.messages.append(message)
                if place < returned { others.returned += 1 } else { others.bytes += message.envelope.size }
            }
        }
        self = others
        return removed
    }

    /// Returns whether there is room for a message; those that have come back aren't counted, since the limits of a link bound them.
    private func hasRoom(for envelope: Envelope) -> Bool {
        let others = messages.count - returned
        return others == 0 || others < Self.limit && bytes + envelope.size <= Self.bytesLimit
    }
}

// MARK: - What waits for a child

/// A message that waits for a child, or for a coordinator below it.
struct ParkedMessage: Parked {
    let envelope: Envelope
    let rest: ArraySlice<Substring>
    let isDirect: Bool
}

// MARK: - What an operator sees of it

extension CoordinatorSnapshot {
    /// Messages that wait in one place for the same: the article <doc:WhereAMessageCanWait> has the bounds of each, and what ends the wait.
    public struct WaitingPlace: Sendable, Hashable {
        /// What messages wait for.
        ///
        /// More cases may be added.
        @nonexhaustive
        public enum Reason: String, Sendable, Hashable, Codable, CaseIterable {
            /// A handler may begin, or the coordinator is resumed.
            case handler
            /// The value is provided that the message's row needs.
            case dependency
            /// The coordinator's next life is ready, or the present one has its link again.
            case life
            /// The coordinator's process gives credit on its link.
            case credit
            /// A member of the pool is free; with a key, that member.
            case member
            /// The child with the key is opened by ``Coordinator/open(section:)``.
            case opening
            /// A child is started again by a parent that has taken over the workers of a former one.
            case start
            /// A node of the cluster owns the child with the key, and takes messages.
            case node
            /// The process above takes what the coordinators of this one send upward. It isn't for this coordinator, so that ``Mailbox/waiting`` doesn't
            /// count it.
            case parent
        }

        /// What the messages wait for.
        public var reason: Reason
        /// The name of the child that it's about; `nil` when it's about none.
        public var key: String?
        /// The number of messages; one whose asker has given up doesn't count.
        public var waiting: Int
        /// The time for which the oldest of them has waited, since it was sent or has arrived in the process.
        public var oldestWaiting: Duration

        /// Creates a description.
        public init(_ reason: Reason, key: String? = nil, waiting: Int, oldestWaiting: Duration) {
            (self.reason, self.key, self.waiting, self.oldestWaiting) = (reason, key, waiting, oldestWaiting)
        }

        /// Describes messages that wait in a place; `nil` when no asker of theirs waits still.
        init?(_ reason: Reason, key: String? = nil, _ envelopes: some Sequence<Envelope>) {
            var (waiting, oldest) = (0, MonotonicTime?.none)
            for envelope in envelopes where !envelope.isWithdrawn {
                waiting += envelope.count
                oldest = min(oldest ?? envelope.arrived, envelope.arrived)
            }
            guard let oldest else { return nil }
            self.init(reason, key: key, waiting: waiting, oldestWaiting: max(.now - oldest, .zero))
        }
    }
}

extension MessageParking {
    /// Describes the messages for an operator; `nil` when none waits.
    func place(_ reason: CoordinatorSnapshot.WaitingPlace.Reason, key: String? = nil) -> CoordinatorSnapshot.WaitingPlace? {
        CoordinatorSnapshot.WaitingPlace(reason, key: key, messages.lazy.map(\.envelope))
    }
}

// MARK: - The limits of a mailbox

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
        /// Its sender waits: an ask until its deadline, a one-way send until its turn. Senders may wait until half of what may wait has gone.
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
