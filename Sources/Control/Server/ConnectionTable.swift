import ConcurrencySupport

/// The connections of a server, and the choice of the one that gives way when there is no room for another.
///
/// The connection that has been without an open request for longest gives way. When all are busy, one of the user or node with most of them
/// does, if that has more than the newcomer's, so that a user keeps no other one out with processes without number; else one of the newcomer's
/// user, if a process of that has two. Changes that it has requested are carried out all the same.
final class ConnectionTable: Sendable {
    /// The one that has connections.
    enum Holder: Hashable {
        /// A process, and its user, as in ``ControlPeer``.
        case process(Int32, user: Int64)
        case node(String)

        /// The one whose share of the connections it is.
        fileprivate var peer: ControlPeer {
            switch self {
            case .process(_, let user): .user(user)
            case .node(let name): .node(name)
            }
        }
    }

    /// A connection's place in the table.
    struct Seat: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Entry {
        let holder: Holder
        let close: @Sendable () -> Void
        var openRequests = 0
        /// The time since which the connection has had no open request.
        var idleSince = ContinuousClock.now
    }

    private struct State {
        /// The connections by number: a smaller number is an older connection.
        var entries: [UInt64: Entry] = [:]
        var next: UInt64 = 0
    }

    private let limits: ConnectionLimits
    private let state = Lock(State())

    init(_ limits: ConnectionLimits) { self.limits = limits }

    var count: Int { state.withLock { $0.entries.count } }

    /// Adds a connection and makes room for it.
    ///
    /// - Parameter close: closes the connection at once.
    /// - Returns: nil when no other connection can give way; the caller then closes this one.
    func seat(of holder: Holder, close: @escaping @Sendable () -> Void) async -> Seat? {
        let seat = state.withLock { state -> Seat in
            state.next += 1
            state.entries[state.next] = Entry(holder: holder, close: close)
            return Seat(number: state.next)
        }
        while isCrowded {
            guard let close = evict(keeping: seat) else {
                leave(seat)
                return nil
            }
            close()
            await waitForRoom()
        }
        return seat
    }

    /// Removes a connection.
    func leave(_ seat: Seat) {
        state.withLock { $0.entries[seat.number] = nil }
    }

    func requestBegan(on seat: Seat) {
        state.withLock { $0.entries[seat.number]?.openRequests += 1 }
    }

    func requestEnded(on seat: Seat) {
        state.withLock { state in
            state.entries[seat.number]?.openRequests -= 1
            state.entries[seat.number]?.idleSince = .now
        }
    }

    /// Waits until a connection has been idle for too long.
    ///
    /// - Returns: false when the connection was removed or the task was cancelled.
    func hasIdled(_ seat: Seat) async -> Bool {
        while let idleSince = state.withLock({ $0.entries[seat.number].map { $0.openRequests == 0 ? $0.idleSince : .now } }) {
            // Idle connections give way to what the process needs soon.
            let isShort = limits.descriptorRoom() < limits.reservedDescriptors
            let remaining = (isShort ? limits.pressedIdleTimeout : limits.idleTimeout) - (ContinuousClock.now - idleSince)
            guard remaining > .zero else { return true }
            do { try await Task.sleep(for: min(remaining, limits.pressedIdleTimeout)) } catch { return false }
        }
        return false
    }

    private var isCrowded: Bool {
        let count = count
        if count > limits.maximumCount { return true }
        let room = limits.descriptorRoom()
        return room < limits.untouchedDescriptors || room < limits.reservedDescriptors && count > limits.guaranteedCount
    }

    private func evict(keeping seat: Seat) -> (@Sendable () -> Void)? {
        state.withLock { state in
            let others = state.entries.filter { $0.key != seat.number }
            let idle = others.filter { $0.value.openRequests == 0 }.min { ($0.value.idleSince, $0.key) < ($1.value.idleSince, $1.key) }
            guard let newcomer = state.entries[seat.number]?.holder,
                let number = idle?.key ?? Self.oldestOfTheGreediest(others, newcomer.peer)
            else { return nil }
            return state.entries.removeValue(forKey: number)?.close
        }
    }

    /// Returns the connection that gives way to one of a user or node when all others are busy; nil when none does.
    ///
    /// The share of the newcomer counts with its new connection, so that two with equal shares don't take turns.
    private static func oldestOfTheGreediest(_ entries: [UInt64: Entry], _ newcomer: ControlPeer) -> UInt64? {
        let shares = Dictionary(grouping: entries) { $0.value.holder.peer }
        let own = shares[newcomer] ?? []
        let most = shares.values.max { $0.count < $1.count } ?? []
        let isOther = most.count > own.count + 1
        let share = isOther ? most : own
        let greediest = Dictionary(grouping: share) { $0.value.holder }.values.max { $0.count < $1.count } ?? []
        if greediest.count > 1 { return greediest.map(\.key).min() }
        return isOther ? share.map(\.key).min() : nil
    }

    /// Waits until closed connections have released their descriptors, which happens a moment after the close.
    private func waitForRoom() async {
        for _ in 0..<50 where isCrowded {
            do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
        }
    }
}
