import ConcurrencySupport
import WireProtocol

/// The changes that were requested, by request ID, so that a request that is sent again isn't carried out again.
final class RequestLedger: Sendable {
    typealias Outcome = Result<JSONValue, ControlError>

    enum Entry {
        /// The request ID is new: the caller carries the operation out, then calls `end`.
        case execute(OneShot<Outcome>)
        /// The same request was made before, and has this outcome when it has ended.
        case join(OneShot<Outcome>)
        /// The request ID belongs to another operation.
        case conflict
    }

    private struct Change {
        let operation: ControlOperation
        let outcome = OneShot<Outcome>()
    }

    private struct State {
        var changes: [String: Change] = [:]
        /// The request IDs of operations that have ended, oldest first; only these are forgotten.
        var ended: [String] = []
    }

    private let capacity: Int
    private let state = Lock(State())

    init(capacity: Int = 1024) {
        self.capacity = capacity
    }

    /// Looks a request up and adds it when it is new.
    func begin(_ requestID: String, _ operation: ControlOperation) -> Entry {
        state.withLock { state in
            if let change = state.changes[requestID] {
                return change.operation == operation ? .join(change.outcome) : .conflict
            }
            let change = Change(operation: operation)
            state.changes[requestID] = change
            return .execute(change.outcome)
        }
    }

    /// Keeps the outcome for requests that repeat this one; forgets a cancelled one, whose outcome says nothing about the operation, and one that
    /// wasn't carried out.
    func end(_ requestID: String, _ outcome: Outcome, wasCancelled: Bool) {
        let shared = state.withLock { state -> OneShot<Outcome>? in
            let shared = state.changes[requestID]?.outcome
            if wasCancelled {
                state.changes[requestID] = nil
                return shared
            }
            state.ended.append(requestID)
            if state.ended.count > capacity {
                state.changes[state.ended.removeFirst()] = nil
            }
            return shared
        }
        shared?.settle(outcome)
    }
}
