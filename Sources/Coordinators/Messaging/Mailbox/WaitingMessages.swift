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

    /// An item and its turn among all that have arrived.
    struct Arrival {
        let turn: UInt64
        let item: Mailbox.Item
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

    /// Returns the oldest message of a lane.
    func first(in lane: Lane) -> Arrival? {
        switch lane {
        case .ordinary: ordinary.first
        case .subtree: subtree.first
        case .interleaving: interleaving.first
        }
    }

    /// Returns the lane with the oldest message among those whose first message satisfies a condition.
    func oldest(where isEligible: (Lane, Mailbox.Item) -> Bool) -> Lane? {
        var oldest: (lane: Lane, turn: UInt64)?
        func consider(_ lane: Lane) {
            guard let first = first(in: lane), oldest.map({ first.turn < $0.turn }) ?? true, isEligible(lane, first.item) else { return }
            oldest = (lane, first.turn)
        }
        consider(.ordinary)
        consider(.subtree)
        consider(.interleaving)
        return oldest?.lane
    }

    mutating func append(_ arrival: Arrival, to lane: Lane) {
        switch lane {
        case .ordinary: ordinary.append(arrival)
        case .subtree: subtree.append(arrival)
        case .interleaving: interleaving.append(arrival)
        }
    }

    /// Removes and returns the oldest message of a lane.
    mutating func removeFirst(in lane: Lane) -> Mailbox.Item {
        switch lane {
        case .ordinary: ordinary.removeFirst().item
        case .subtree: subtree.removeFirst().item
        case .interleaving: interleaving.removeFirst().item
        }
    }

    /// Removes and returns all messages, in the order of their arrival.
    mutating func removeAll() -> [Mailbox.Item] {
        let all = [ordinary, subtree, interleaving].joined().sorted { $0.turn < $1.turn }
        self = WaitingMessages()
        return all.map(\.item)
    }

    /// Removes the messages that don't satisfy a condition.
    mutating func retain(where isWanted: (Mailbox.Item) -> Bool) {
        ordinary.removeAll { !isWanted($0.item) }
        subtree.removeAll { !isWanted($0.item) }
        interleaving.removeAll { !isWanted($0.item) }
    }
}
