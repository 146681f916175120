import ConcurrencySupport

/// The first start of a child in one life of its supervisor, for which siblings may wait.
final class FirstStart: Sendable {
    /// Settled when the start was requested of supervision, or will not be.
    let requested = OneShot<Void>()
    /// Settled when the child is ready, or is not going to be: whether it is.
    let concluded = OneShot<Bool>()
    /// Settled when the child has what it waits for, or is not going to get it, or a stop has come: what is missing.
    let missing = OneShot<ConfiguredChildren.Need?>()
    /// Whether the child waits for others; a stop takes the turn.
    private let turn = Lock(true)

    /// Takes the child's turn to start, once.
    ///
    /// - Returns: False when a stop has come first.
    func takeTurn() -> Bool {
        turn.withLock { turn in
            defer { turn = false }
            return turn
        }
    }

    /// Whether the child still waits.
    var isWaiting: Bool { turn.withLock { $0 } }

    /// Cancels a start that waits for siblings.
    func cancel() {
        guard takeTurn() else { return }
        missing.settle(nil)
        requested.settle()
        concluded.settle(false)
    }
}
