import ConcurrencySupport
import NNG

/// The large messages of all connections of which a part hasn't arrived yet, and the choice of those that give way when their bytes are too
/// many: a peer can begin a message on each of its connections and end none.
///
/// The oldest of the peer whose messages have most bytes gives way, by the end of its connection.
final class UnfinishedMessages: Sendable {
    private struct Entry {
        let count: Int
        let peer: ControlPeer
        let close: @Sendable () -> Void
    }

    private struct State {
        /// The messages by number: a smaller number is an older one.
        var entries: [UInt64: Entry] = [:]
        var next: UInt64 = 0
        var sum = 0

        mutating func remove(_ number: UInt64) -> Entry? {
            let entry = entries.removeValue(forKey: number)
            sum -= entry?.count ?? 0
            return entry
        }

        /// Removes the oldest message of the peer that has most, other than one; returns nil when there is no other.
        mutating func removeGreediest(besides number: UInt64) -> Entry? {
            var bytes: [ControlPeer: Int] = [:]
            for (key, entry) in entries where key != number { bytes[entry.peer, default: 0] += entry.count }
            guard let most = bytes.values.max() else { return nil }
            let victim = entries.filter { $0.key != number && bytes[$0.value.peer] == most }.keys.min()
            return victim.flatMap { remove($0) }
        }
    }

    /// Counts a message out with its last reference.
    private final class Ticket: Sendable {
        let table: UnfinishedMessages
        let number: UInt64

        init(_ table: UnfinishedMessages, _ number: UInt64) { (self.table, self.number) = (table, number) }

        deinit { table.end(number) }
    }

    private let maximum: Int
    private let state = Lock(State())

    init(maximum: Int) { self.maximum = maximum }

    /// Returns what counts the large messages of a connection.
    ///
    /// - Parameter close: Closes the connection; must not block.
    func reservation(of peer: ControlPeer, close: @escaping @Sendable () -> Void) -> LargeMessageReservation {
        { count in self.openTicket(count, of: peer, close) }
    }

    private func openTicket(_ count: Int, of peer: ControlPeer, _ close: @escaping @Sendable () -> Void) -> Ticket {
        let (number, victims) = state.withLock { state in
            state.next += 1
            state.entries[state.next] = Entry(count: count, peer: peer, close: close)
            state.sum += count
            var victims: [Entry] = []
            while state.sum > maximum, let victim = state.removeGreediest(besides: state.next) { victims.append(victim) }
            return (state.next, victims)
        }
        for victim in victims { victim.close() }
        return Ticket(self, number)
    }

    private func end(_ number: UInt64) { _ = state.withLock { $0.remove(number) } }

    /// The bytes of all these messages.
    var sum: Int { state.withLock { $0.sum } }
}
