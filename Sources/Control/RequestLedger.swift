import ConcurrencySupport
import WireProtocol

/// Remembers changes by their request ids, so that a request that is sent again isn't carried out again.
final class RequestLedger: Sendable {
    typealias Outcome = Result<JSONValue, ControlError>

    enum Entry {
        /// The id is new: carry it out, then call `end`.
        case execute(OneShot<Outcome>)
        /// The same request was made before; its outcome is here, or will be.
        case join(OneShot<Outcome>)
        /// The id belongs to another operation.
        case conflict
    }

    private struct State {
        var entries: [String: (operation: Operation, outcome: OneShot<Outcome>)] = [:]
        /// The ids of what has ended, oldest first; what hasn't ended is never forgotten.
        var ended: [String] = []
    }

    private let capacity: Int
    private let state = Lock(State())

    init(capacity: Int = 1024) {
        self.capacity = capacity
    }

    func begin(_ requestID: String, _ operation: Operation) -> Entry {
        state.withLock { state in
            if let entry = state.entries[requestID] {
                return entry.operation == operation ? .join(entry.outcome) : .conflict
            }
            let outcome = OneShot<Outcome>()
            state.entries[requestID] = (operation, outcome)
            return .execute(outcome)
        }
    }

    /// Keeps the outcome for those who ask again; one that was cancelled says nothing about the operation and is forgotten.
    func end(_ requestID: String, _ outcome: Outcome, wasCancelled: Bool) {
        let shared = state.withLock { state -> OneShot<Outcome>? in
            let shared = state.entries[requestID]?.outcome
            if wasCancelled {
                state.entries[requestID] = nil
                return shared
            }
            state.ended.append(requestID)
            if state.ended.count > capacity {
                state.entries[state.ended.removeFirst()] = nil
            }
            return shared
        }
        shared?.settle(outcome)
    }
}
