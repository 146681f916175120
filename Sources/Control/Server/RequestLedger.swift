import ConcurrencySupport
import WireProtocol

/// The changes that were requested, by request ID, so that a request that is sent again isn't carried out again.
///
/// A change is remembered by a mark of its operation, and not with what it sends. Its outcome is kept as text, as long as all of them have no
/// more bytes than they may have. Then the oldest outcome of the peer that has most bytes is given up, and that it was made stays known; of too
/// many changes the oldest of the peer with most of them is forgotten.
final class RequestLedger: Sendable {
    typealias Outcome = Result<JSONValue, ControlError>

    enum Entry {
        /// The request ID is new: the caller carries the operation out, then calls `end`.
        case execute
        /// The same request was made before, and has this outcome when it has ended.
        case join(OneShot<Outcome>)
        /// The request ID belongs to another operation.
        case conflict
    }

    /// A change that is open has the outcome of those that wait for it, one that has ended what is kept of it.
    fileprivate enum Progress {
        /// Can transition to: ended.
        case open(OneShot<Outcome>)
        /// The outcome as text.
        case ended(Result<[UInt8], ControlError>)
        /// The outcome wasn't kept, because it and others had too many bytes.
        case forgotten
    }

    fileprivate struct Change {
        let mark: OperationMark
        let peer: ControlPeer
        var progress: Progress

        var bytes: Int {
            switch progress {
            case .open, .forgotten: 0
            case .ended(.success(let bytes)): bytes.count
            case .ended(.failure(let error)): error.message.utf8.count
            }
        }
    }

    fileprivate struct State {
        var changes: [String: Change] = [:]
        /// The request IDs of the operations of each peer that have ended, oldest first; only these are forgotten.
        var ended: [ControlPeer: [String]] = [:]
        /// The bytes of the outcomes of each peer.
        var bytes: [ControlPeer: Int] = [:]
        /// The sums over all peers.
        var (endedCount, sumOfBytes) = (0, 0)
    }

    private let capacity: Int
    private let maximumBytes: Int
    private let state = Lock(State())

    init(capacity: Int = 1024, maximumBytes: Int = 16 << 20) {
        (self.capacity, self.maximumBytes) = (capacity, maximumBytes)
    }

    /// Looks a request up and adds it when it is new.
    func openEntry(_ requestID: String, _ operation: ControlOperation, of peer: ControlPeer) -> Entry {
        let mark = OperationMark(operation)
        return state.withLock { state in
            guard let change = state.changes[requestID] else {
                state.changes[requestID] = Change(mark: mark, peer: peer, progress: .open(OneShot()))
                return .execute
            }
            guard change.mark == mark, change.peer.shares(with: peer) else { return .conflict }
            let outcome: OneShot<Outcome>
            switch change.progress {
            case .open(let open): outcome = open
            case .ended(let kept):
                outcome = OneShot(kept.flatMap { bytes in Result { () throws(ControlError) in try ControlJSON.parse(answer: bytes) } })
            case .forgotten: outcome = OneShot(.failure(Self.notKept))
            }
            return .join(outcome)
        }
    }

    private static let notKept = ControlError(
        .failed,
        "the request was carried out, and its answer isn't kept: this and other answers have too many bytes; look at what it has done"
    )

    /// Keeps the outcome for requests that repeat this one; forgets a change that is known not to have been carried out, and may be requested
    /// again.
    func end(_ requestID: String, _ outcome: Outcome) {
        let kept = outcome.flatMap { json in Result { () throws(ControlError) in try ControlJSON.bytes(of: json) } }
        let waiting = state.withLock { state -> OneShot<Outcome>? in
            guard var change = state.changes[requestID], case .open(let waiting) = change.progress else { return nil }
            if Self.isAbsence(outcome) {
                state.changes[requestID] = nil
                return waiting
            }
            change.progress = .ended(kept)
            state.changes[requestID] = change
            state.ended[change.peer, default: []].append(requestID)
            state.endedCount += 1
            state.count(change.bytes, of: change.peer)
            while state.sumOfBytes > maximumBytes, state.forgetOutcome() {}
            while state.endedCount > capacity, state.forgetChange() {}
            return waiting
        }
        waiting?.settle(outcome)
    }

    /// Whether an outcome proves that the change wasn't carried out: another node has it, or it was cancelled before it began.
    private static func isAbsence(_ outcome: Outcome) -> Bool {
        guard case .failure(let error) = outcome else { return false }
        return error.code == .notHere || error.code == .cancelled && error.maybeExecuted == false
    }

    /// The bytes of the outcomes that are kept.
    var bytes: Int { state.withLock { $0.sumOfBytes } }
}

extension RequestLedger.State {
    fileprivate mutating func count(_ change: Int, of peer: ControlPeer) {
        bytes[peer, default: 0] += change
        sumOfBytes += change
    }

    /// Forgets the oldest outcome of the peer whose outcomes have most bytes.
    fileprivate mutating func forgetOutcome() -> Bool {
        guard let peer = bytes.max(by: { $0.value < $1.value })?.key,
            let id = ended[peer]?.first(where: { changes[$0].map { $0.bytes > 0 } ?? false })
        else { return false }
        count(-(changes[id]?.bytes ?? 0), of: peer)
        changes[id]?.progress = .forgotten
        return true
    }

    /// Forgets the oldest change of the peer that has most.
    fileprivate mutating func forgetChange() -> Bool {
        guard let peer = ended.max(by: { $0.value.count < $1.value.count })?.key, ended[peer]?.isEmpty == false,
            let id = ended[peer]?.removeFirst()
        else { return false }
        endedCount -= 1
        count(-(changes.removeValue(forKey: id)?.bytes ?? 0), of: peer)
        if ended[peer]?.isEmpty == true { (ended[peer], bytes[peer]) = (nil, nil) }
        return true
    }
}

/// The mark of an operation, kept in place of the operation itself: 128 bits of a keyed hash, under a key of the process.
private struct OperationMark: Hashable {
    private let words: [Int]

    init(_ operation: ControlOperation) {
        // The time that is left differs when a node passes the same message on again.
        let operation = operation.limited(to: .zero)
        words = [0, 1].map { number in
            var hasher = Hasher()
            hasher.combine(number)
            hasher.combine(operation)
            return hasher.finalize()
        }
    }
}
