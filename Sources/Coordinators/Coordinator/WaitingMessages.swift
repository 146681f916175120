import ConcurrencySupport
import DequeModule

/// The messages that wait for their turn, apart by what they wait for.
struct WaitingMessages {
    /// The condition on which a message begins.
    enum Lane: CaseIterable {
        /// The message begins when a handler may begin.
        case ordinary
        /// The message comes from the coordinator's own subtree: it begins also while a handler waits for other coordinators.
        case subtree
        /// The row of the message interleaves: the message begins though as many handlers run as may.
        case interleaving
    }

    /// A message, its row, and its turn among all items that have arrived.
    struct Message {
        let turn: UInt64
        let envelope: Envelope
        let row: MessageRow

        var item: Mailbox.Item { .message(envelope, row) }
    }

    private var ordinary: Deque<Message> = []
    private var subtree: Deque<Message> = []
    /// Those of the lane in which few coordinators have any.
    private var storedInterleaving = LazyStorage<Deque<Message>>()

    private var interleaving: Deque<Message> {
        _read { yield storedInterleaving.value }
        _modify { yield &storedInterleaving.value }
    }

    /// The number of messages in a lane.
    func count(in lane: Lane) -> Int {
        switch lane {
        case .ordinary: ordinary.count
        case .subtree: subtree.count
        case .interleaving: storedInterleaving.isEmpty ? 0 : interleaving.count
        }
    }

    /// Returns the turn and the size of a lane's first message.
    func first(in lane: Lane) -> (turn: UInt64, bytes: Int)? {
        switch lane {
        case .ordinary: Self.first(of: ordinary)
        case .subtree: Self.first(of: subtree)
        case .interleaving: storedInterleaving.isEmpty ? nil : Self.first(of: interleaving)
        }
    }

    private static func first(of messages: Deque<Message>) -> (turn: UInt64, bytes: Int)? {
        messages.isEmpty ? nil : (messages[0].turn, messages[0].envelope.size)
    }

    /// The lane with the oldest message.
    var oldestLane: Lane? {
        Lane.allCases.compactMap { lane in first(in: lane).map { (lane, $0.turn) } }.min { $0.1 < $1.1 }?.0
    }

    mutating func append(_ message: Message, to lane: Lane) {
        switch lane {
        case .ordinary: ordinary.append(message)
        case .subtree: subtree.append(message)
        case .interleaving: interleaving.append(message)
        }
    }

    /// Removes and returns the oldest message of a lane.
    mutating func removeFirst(in lane: Lane) -> Message {
        switch lane {
        case .ordinary: ordinary.removeFirst()
        case .subtree: subtree.removeFirst()
        case .interleaving: interleaving.removeFirst()
        }
    }

    /// The time at which the oldest message was sent or arrived whose asker still waits.
    var oldestArrival: MonotonicTime? {
        [ordinary, subtree, interleaving].compactMap { $0.first { !$0.envelope.isWithdrawn }?.envelope.arrived }.min()
    }

    /// The messages that wait for a handler to end, whatever it waits for.
    var ofOrdinaryLane: some Sequence<Envelope> { ordinary.lazy.map(\.envelope) }

    /// Removes and returns a message of the ordinary lane.
    mutating func removeOrdinary(_ envelope: Envelope) -> Message? {
        ordinary.firstIndex { $0.envelope === envelope }.map { ordinary.remove(at: $0) }
    }

    /// All messages, lane by lane.
    var all: [Envelope] { [ordinary, subtree, interleaving].joined().map(\.envelope) }

    /// Removes and returns all messages, in the order of their arrival.
    mutating func removeAll() -> [Message] {
        defer { self = WaitingMessages() }
        return [ordinary, subtree, interleaving].joined().sorted { $0.turn < $1.turn }
    }

    /// Removes and returns the messages whose askers have given up.
    mutating func removeWithdrawn() -> [Message] {
        var withdrawn: [Message] = []
        for lane in Lane.allCases {
            // Each message is looked at once: one that is withdrawn a moment later is kept, and counted as one that is kept.
            for _ in 0..<count(in: lane) {
                let message = removeFirst(in: lane)
                if message.envelope.isWithdrawn { withdrawn.append(message) } else { append(message, to: lane) }
            }
        }
        return withdrawn
    }
}

extension Deque: Emptiable {}

/// A one-way message of this process that was accepted, for a row that doesn't await: nobody waits for its end, nor can withdraw it.
///
/// It needs no envelope, in which the end of a message is, unless something else than its row wants it.
struct AcceptedMessage: Sendable {
    private(set) var body: any ResponderMessage
    let sender: CoordinatorPath
    let arrived = MonotonicTime.now
    /// The size that counts against limits, as an envelope's.
    let size: Int
    /// Not retained, because its count of references would be shared by all senders: rows live as long as their coordinator's type.
    unowned(unsafe) let row: MessageRow

    init(body: any ResponderMessage, sender: CoordinatorPath, size: Int, row: MessageRow) {
        (self.body, self.sender, self.size, self.row) = (body, sender, size, row)
    }

    /// The message in an envelope.
    var envelope: Envelope { envelope(with: body) }

    /// The message in an envelope, with the body that was taken out of it.
    func envelope(with body: any ResponderMessage) -> Envelope {
        let envelope = Envelope(.value(body), sender: sender, deadline: nil, trace: [], isOneWay: true, arrived: arrived)
        envelope.accept()
        return envelope
    }

    /// Takes the body out, which is handled now.
    mutating func takeBody() -> any ResponderMessage {
        var taken: any ResponderMessage = Taken()
        swap(&taken, &body)
        return taken
    }

    private struct Taken: ResponderMessage {}
}

/// The messages of a mailbox without envelopes.
///
/// They wait in batches, each of which is handled at a time: so each message is moved twice and never copied, because the count of references
/// to what is in it would be changed by the processors of both sides.
///
/// `@unchecked`: they belong to the mailbox, which is under its coordinator's lock. An object, because most mailboxes have none.
final class AcceptedMessages: @unchecked Sendable {
    typealias Batch = [AcceptedMessage]

    /// The batches that are full, the oldest first, and the one after them.
    private var full: Deque<Batch> = []
    private var filling: Batch = []
    /// Memory for the next batch.
    private var spare: Batch = []
    private(set) var count = 0
    private var bytes = 0
    /// The arrival of the oldest of those that are handled at the moment.
    var since: MonotonicTime?

    /// The arrival of the oldest of those that wait.
    var oldestArrival: MonotonicTime? { (full.first ?? filling).first?.arrived }

    /// Those that wait, in order.
    var all: some Sequence<AcceptedMessage> { (full + [filling]).joined() }

    func append(_ message: consuming AcceptedMessage) {
        bytes += message.size
        count += 1
        filling.append(message)
        if filling.count == Mailbox.batchLimit {
            full.append(filling)
            filling = []
            swap(&filling, &spare)
            filling.reserveCapacity(Mailbox.batchLimit)
        }
    }

    /// Removes and returns the oldest message.
    func removeFirst() -> AcceptedMessage? {
        guard count > 0 else { return nil }
        let message: AcceptedMessage
        if full.isEmpty {
            message = filling.removeFirst()
        } else {
            message = full[0].removeFirst()
            if full[0].isEmpty { full.removeFirst() }
        }
        count -= 1
        bytes -= message.size
        return message
    }

    /// Removes and returns all messages, in order.
    func removeAll() -> [AcceptedMessage] {
        defer { (full, filling, count, bytes) = ([], [], 0, 0) }
        return Array(all)
    }

    /// Removes the oldest messages, which are handled at once.
    ///
    /// - Parameter taken: The place for them, which is empty; its memory is used again.
    /// - Returns: Their bytes.
    func take(into taken: inout Batch) -> Int {
        let former = bytes
        if let oldest = full.popFirst() {
            spare = taken
            taken = oldest
        } else {
            swap(&filling, &taken)
        }
        count -= taken.count
        bytes = count == 0 ? 0 : bytes - taken.reduce(0) { $0 + $1.size }
        since = taken.first?.arrived
        return former - bytes
    }
}
