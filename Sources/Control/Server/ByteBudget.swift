import ConcurrencySupport

/// The one at the other end of a connection, whose share of a server's memory is bounded: a user of this machine, or another node.
enum ControlPeer: Hashable, Sendable {
    /// A user, whatever the number of the user's processes; -1: one that the kernel doesn't name.
    case user(Int64)
    /// A node, which has proved its name.
    case node(String)

    /// Whether another one is told what became of this one's request, when it repeats the request.
    ///
    /// What one user was told isn't for another one, who may have found the request ID in the events. A node repeats what its own operators ask,
    /// and who asked for an upgrade isn't known after it.
    func shares(with other: ControlPeer) -> Bool {
        switch (self, other) {
        case (.node, _), (_, .node), (.user(-1), _): true
        default: self == other
        }
    }
}

/// The memory of a server that each connected peer may take, with a limit for each purpose.
struct ControlBudgets: Sendable {
    /// The answers that weren't read yet.
    let unread: ByteBudget
    /// The requests that are carried out.
    let open: ByteBudget
    /// The requests that haven't arrived whole.
    let unfinished: UnfinishedMessages

    init(_ limits: ConnectionLimits) {
        unread = ByteBudget(maximum: limits.maximumUnreadBytes)
        open = ByteBudget(maximum: limits.maximumOpenBytes)
        unfinished = UnfinishedMessages(maximum: limits.maximumUnfinishedBytes)
    }
}

/// The limit on the bytes that all peers together take of one resource, and the share of it that one peer may have.
///
/// A peer that has nothing may always take something, so that none is kept out by the others: the bytes of one message more for each peer.
final class ByteBudget: Sendable {
    private struct State {
        var sum = 0
        var taken: [ControlPeer: Int] = [:]
    }

    private let maximum: Int
    private let share: Int
    private let state = Lock(State())

    /// Creates a budget of which one peer may have a half.
    init(maximum: Int) { (self.maximum, share) = (maximum, maximum / 2) }

    /// Counts bytes in; returns false when they'd be too many.
    func reserve(_ count: Int, for peer: ControlPeer) -> Bool {
        state.withLock { state in
            let taken = state.taken[peer] ?? 0
            let fits = taken.addingSaturating(count) <= share && state.sum.addingSaturating(count) <= maximum
            guard taken == 0 || fits else { return false }
            state.taken[peer] = taken.addingSaturating(count)
            state.sum = state.sum.addingSaturating(count)
            return true
        }
    }

    /// Counts bytes out that were counted in.
    func giveBack(_ count: Int, of peer: ControlPeer) {
        state.withLock { state in
            let rest = (state.taken[peer] ?? 0) - count
            state.taken[peer] = rest > 0 ? rest : nil
            state.sum -= count
        }
    }

    /// The bytes that are taken.
    var sum: Int { state.withLock { $0.sum } }
}
