import ConcurrencySupport

/// The connections of a server, and which of them gives way when there is no room for another.
///
/// The one that has been without an open request for longest does. When all are busy, the oldest connection of the process that has most of
/// them does: what it has begun to change is carried out all the same.
final class ConnectionTable: Sendable {
    /// A connection's place in the table.
    struct Seat: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Entry {
        let processID: Int32
        let close: @Sendable () -> Void
        var openRequests = 0
        /// Since when it has had no open request.
        var idleSince = ContinuousClock.now
    }

    private struct State {
        /// By their numbers, and so by their ages.
        var entries: [UInt64: Entry] = [:]
        var next: UInt64 = 0
    }

    private let limits: ConnectionLimits
    private let state = Lock(State())

    init(_ limits: ConnectionLimits) { self.limits = limits }

    var count: Int { state.withLock { $0.entries.count } }

    /// Takes a connection in, and makes room for it.
    ///
    /// - Parameter close: ends the connection at once.
    /// - Returns: nil when no other connection can give way; the caller closes it.
    func seat(processID: Int32, close: @escaping @Sendable () -> Void) async -> Seat? {
        let seat = state.withLock { state -> Seat in
            state.next += 1
            state.entries[state.next] = Entry(processID: processID, close: close)
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

    /// Gives the seat back.
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

    /// Waits until the connection has been idle for too long.
    ///
    /// - Returns: false when the connection has gone, or the task was cancelled.
    func hasIdled(_ seat: Seat) async -> Bool {
        while let idleSince = state.withLock({ $0.entries[seat.number].map { $0.openRequests == 0 ? $0.idleSince : .now } }) {
            // Who is idle gives way to what the process needs soon.
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
            guard let number = idle?.key ?? Self.oldestOfTheGreediest(others) else { return nil }
            return state.entries.removeValue(forKey: number)?.close
        }
    }

    /// Nil when no process has two.
    private static func oldestOfTheGreediest(_ entries: [UInt64: Entry]) -> UInt64? {
        let numbers = Dictionary(grouping: entries.keys) { entries[$0]?.processID ?? 0 }
        guard let most = numbers.values.max(by: { $0.count < $1.count }), most.count > 1 else { return nil }
        return most.min()
    }

    /// The descriptor of a closed connection is given back a moment later.
    private func waitForRoom() async {
        for _ in 0..<50 where isCrowded {
            do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
        }
    }
}
