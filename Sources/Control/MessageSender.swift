import ConcurrencySupport
import NNG

/// Lets many tasks send on one connection, in the order in which they came: a connection itself takes one message at a time.
final class MessageSender: Sendable {
    private struct State {
        var isBusy = false
        var nextTicket: UInt64 = 0
        /// In the order of their tickets.
        ///
        /// True hands the turn over, false says that the wait was cancelled.
        var waiters: [(ticket: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let connection: PairConnection
    private let state = Lock(State())

    init(on connection: PairConnection) {
        self.connection = connection
    }

    /// Sends one message when those before it have left.
    ///
    /// - Parameter body: is made when it is the message's turn, so that of all that waits for a slow reader one is in memory.
    /// - Throws: `.canceled` when the task is cancelled before it is this message's turn, and what the connection throws.
    func send(_ body: () -> [UInt8]) async throws(NNGError) {
        guard await begin() else { throw NNGError(.canceled, operation: "send") }
        defer { end() }
        try await connection.send(body())
    }

    private func begin() async -> Bool {
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
                    state.waiters.append((ticket, continuation))
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

    /// Hands the turn to the next, or gives it back.
    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
            state.isBusy = false
            return nil
        }
        next?.resume(returning: true)
    }
}
