import ConcurrencySupport

/// The bytes of answers that their requesters haven't read yet, of all connections of a server.
final class AnswerBudget: Sendable {
    private let maximum: Int
    private let unread = Lock(0)

    init(maximum: Int) { self.maximum = maximum }

    /// Takes note of an answer; false when there are too many bytes already.
    ///
    /// An answer that is the only one always fits.
    func take(_ count: Int) -> Bool {
        unread.withLock { unread in
            guard unread == 0 || unread + count <= maximum else { return false }
            unread += count
            return true
        }
    }

    func giveBack(_ count: Int) {
        unread.withLock { $0 -= count }
    }
}
