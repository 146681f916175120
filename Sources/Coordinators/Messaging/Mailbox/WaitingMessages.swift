import DequeModule

/// The messages that wait for their turn, apart by what they wait for.
struct WaitingMessages {
    /// The condition on which a message begins.
    enum Lane {
        /// The message begins when a handler may begin.
        case ordinary
        /// The message comes from the coordinator's own subtree: it begins also while a handler waits for other coordinators.
        case subtree
        /// The row of the message interleaves: the message begins though as many handlers run as may.
        case interleaving
    }

    /// A message and its turn among all that have arrived.
    struct Arrival {
        let turn: UInt64
        let envelope: Envelope
        let row: MessageRow
    }

    private var ordinary: Deque<Arrival> = []
    private var subtree: Deque<Arrival> = []
    private var interleaving: Deque<Arrival> = []

    /// The number of messages in a lane.
    func count(in lane: Lane) -> Int {
        switch lane {
        case .ordinary: ordinary.count
        case .subtree: subtree.count
        case .interleaving: interleaving.count
        }
    }

    /// Returns the lane with the oldest message among those whose first message satisfies a condition, and the turn of that message.
    ///
    /// - Parameter isEligible: A condition on a lane and the size of its first message in bytes.
    func oldest(where isEligible: (Lane, _ size: Int) -> Bool) -> (lane: Lane, turn: UInt64)? {
        var oldest: (lane: Lane, turn: UInt64)?
        func consider(_ lane: Lane, _ messages: Deque<Arrival>) {
            if messages.isEmpty { return }
            let turn = messages[0].turn
            guard oldest.map({ turn < $0.turn }) ?? true, isEligible(lane, messages[0].envelope.size) else { return }
            oldest = (lane, turn)
        }
        consider(.ordinary, ordinary)
        consider(.subtree, subtree)
        consider(.interleaving, interleaving)
        return oldest
    }

    mutating func append(_ arrival: Arrival, to lane: Lane) {
        switch lane {
        case .ordinary: ordinary.append(arrival)
        case .subtree: subtree.append(arrival)
        case .interleaving: interleaving.append(arrival)
        }
    }

    /// Removes and returns the oldest message of a lane.
    mutating func removeFirst(in lane: Lane) -> Arrival {
        switch lane {
        case .ordinary: ordinary.removeFirst()
        case .subtree: subtree.removeFirst()
        case .interleaving: interleaving.removeFirst()
        }
    }

    /// Removes and returns all messages, in the order of their arrival.
    mutating func removeAll() -> [Mailbox.Item] {
        let all = [ordinary, subtree, interleaving].joined().sorted { $0.turn < $1.turn }
        self = WaitingMessages()
        return all.map { .message($0.envelope, $0.row) }
    }

    /// Removes the messages that don't satisfy a condition.
    mutating func retain(where isWanted: (Envelope, MessageRow) -> Bool) {
        ordinary.removeAll { !isWanted($0.envelope, $0.row) }
        subtree.removeAll { !isWanted($0.envelope, $0.row) }
        interleaving.removeAll { !isWanted($0.envelope, $0.row) }
    }
}
