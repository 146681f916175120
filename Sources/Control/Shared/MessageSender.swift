import ConcurrencySupport
import NNG

/// A queue of senders on one connection, first come, first served: a connection takes one message at a time.
final class MessageSender: Sendable {
    /// A sender that waits for its turn; it is resumed with whether the turn has come, or the wait was cancelled.
    private struct Waiter {
        let ticket: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var isBusy = false
        var nextTicket: UInt64 = 0
        /// The waiting senders in the order of their tickets.
        var waiters: [Waiter] = []
    }

    private let connection: PairConnection
    private let state = Lock(State())

    init(on connection: PairConnection) {
        self.connection = connection
    }

    /// Sends one message after those before it.
    ///
    /// - Parameter body: makes the message when it is its turn, so that only one message to a slow reader is in memory.
    /// - Throws: `.canceled` when the task is cancelled before it is this message's turn, and the connection's errors.
    func send(_ body: () -> [UInt8]) async throws(NNGError) {
        guard await claimTurn() else { throw NNGError(.canceled, operation: "send") }
        defer { end() }
        try await connection.send(body())
    }

    private func claimTurn() async -> Bool {
        let ticket = state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isMyTurn = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    guard state.isBusy else {
                        state.isBusy = true
                        return true
                    }
                    state.waiters.append(Waiter(ticket: ticket, continuation: continuation))
                    return nil
                }
                if let isMyTurn { continuation.resume(returning: isMyTurn) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    /// Passes the turn to the next sender, if there is one.
    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
            state.isBusy = false
            return nil
        }
        next?.resume(returning: true)
    }
}
