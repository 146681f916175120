import ConcurrencySupport

/// The limit on the bytes of unread answers of all connections of a server together.
final class AnswerBudget: Sendable {
    private let maximum: Int
    private let unread = Lock(0)

    init(maximum: Int) { self.maximum = maximum }

    /// Counts an answer in; returns false when the limit would be exceeded.
    ///
    /// A single answer always fits.
    func take(_ count: Int) -> Bool {
        unread.withLock { unread in
            guard unread == 0 || unread + count <= maximum else { return false }
            unread += count
            return true
        }
    }

    /// Counts an answer out that was read, or that its requester can't read any more.
    func giveBack(_ count: Int) {
        unread.withLock { $0 -= count }
    }
}
