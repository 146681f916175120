internal import CNNG
import ConcurrencySupport
internal import Synchronization

/// The receiving half of a pair connection: one read in flight, many messages per read, taken apart where they lie.
///
/// A read is in flight whenever there is room, wanted or not. So the end of a peer is noticed at once, and nng's poller is never left
/// with a stream that nobody waits on.
///
/// Bytes `buffer[head..<tail]` are unread. They, `head` and `large` belong to whoever has the *turn* (`hasTurn`); `buffer[tail...]`
/// belongs to nng while a read is in flight. Whoever finds the turn taken sets `lookAgain` and leaves: that keeps the delivery serial
/// and ordered although nng calls back on several threads.
final class MessageReader: @unchecked Sendable {
    typealias OnMessage = @Sendable ([UInt8]) -> Void
    typealias OnClose = @Sendable (NNGError) -> Void
    typealias Waiter = CheckedContinuation<Result<[UInt8], NNGError>, Never>

    static let bufferSize = 1 << 16

    enum Consumer {
        /// Messages wait in the buffer. Can transition to: callbacks, waiter.
        case none
        /// Can transition to: finished.
        case callbacks(OnMessage, OnClose)
        /// Somebody is in `receive`. Can transition to: none.
        case waiter(Waiter, CancellationRequest)
        /// `onClose` has been called, or is being called.
        case finished
    }

    enum Reading {
        case none, intoBuffer, intoLarge
    }

    struct State {
        var head = 0
        var tail = 0
        var large: LargeMessage?
        /// Bytes that have been read into `large` and that it hasn't been told of.
        var largeCount = 0
        /// A message whose taker went away while it was taken apart.
        var ready: [UInt8]?
        var reading = Reading.none
        var hasTurn = false
        var lookAgain = false
        var consumer = Consumer.none
        /// An error of a read that is tried once more, because it may hide unread bytes.
        var suspicion: NNGError.Code?
        /// Why nothing more will be read.
        var end: NNGError?
    }

    let handle: Handle
    let address: String
    let maximumMessageSize: Int
    let operation: AsyncOperation
    // See above for whom it belongs to.
    let buffer: UnsafeMutableRawBufferPointer
    let state = Lock(State())
    let closedHere = Atomic<Bool>(false)

    init(handle: Handle, address: String, maximumMessageSize: Int) throws(NNGError) {
        self.handle = handle
        self.address = address
        self.maximumMessageSize = maximumMessageSize
        operation = try AsyncOperation(for: "receive", address: address)
        // Not initialised, so that an idle connection touches no page of it.
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 16)
    }

    deinit {
        buffer.deallocate()
    }

    /// Looks after what has come, unless somebody else is at it, who then looks again.
    ///
    /// Begins to read when called first.
    func takeTurn() {
        let isFree = state.withLock { state in
            state.lookAgain = true
            defer { state.hasTurn = true }
            return !state.hasTurn
        }
        if isFree { deliver() }
    }

    /// Hands messages to callbacks from now on.
    ///
    /// False when there is a consumer already.
    func start(onMessage: @escaping OnMessage, onClose: @escaping OnClose) -> Bool {
        let (isFirst, mustDeliver) = state.withLock { state -> (Bool, Bool) in
            guard case .none = state.consumer else { return (false, false) }
            state.consumer = .callbacks(onMessage, onClose)
            if state.hasTurn {
                state.lookAgain = true
                return (true, false)
            }
            if state.reading != .none, state.head == state.tail, state.end == nil { return (true, false) }
            state.hasTurn = true
            return (true, true)
        }
        if mustDeliver {
            // Something has come already. The callbacks run on nng's threads, never on the caller's, who may hold locks they need.
            deliverElsewhere()
        }
        return isFirst
    }

    /// Waits for one message.
    ///
    /// Cancelling takes the wish back and loses nothing.
    func receive() async -> Result<[UInt8], NNGError> {
        let request = CancellationRequest()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let refusal = state.withLock { state -> NNGError.Code? in
                    if let reason = request.reason { return reason }
                    guard case .none = state.consumer else { return .busy }
                    state.consumer = .waiter(continuation, request)
                    return nil
                }
                if let refusal {
                    continuation.resume(returning: .failure(error(refusal)))
                } else {
                    takeTurn()
                }
            }
        } onCancel: {
            request.make(.canceled)
            let waiter = state.withLock { state -> Waiter? in
                guard case .waiter(let waiter, let current) = state.consumer, current === request else { return nil }
                state.consumer = .none
                return waiter
            }
            waiter?.resume(returning: .failure(error(.canceled)))
        }
    }

    /// Ends the connection.
    ///
    /// Nothing is delivered any more but the end, and its reason is `reason` unless there was one before.
    func close(_ reason: NNGError) {
        state.withLock { state in
            if state.end == nil { state.end = reason }
            state.lookAgain = true
        }
        closedHere.store(true, ordering: .releasing)
        // Somebody who waits for messages always has a read in flight or the turn; either delivers the end.
        handle.close()
    }

    /// How the peer left, if it was the peer who did.
    var endOfPeer: NNGError.Code? {
        state.withLock { state in
            guard let code = state.end?.code, code.mayHideUnreadBytes else { return nil }
            return code
        }
    }

    func error(_ code: NNGError.Code) -> NNGError {
        NNGError(code, operation: "receive", address: address)
    }

    private func deliverElsewhere() {
        guard let kick = try? AsyncOperation(for: "receive", address: address) else { return deliver() }
        let submission = kick.submit { _ in
            self.deliver()
        } start: { aio in
            // An operation that is over at once: its callback is queued for nng's threads.
            if nng_aio_begin(aio) { nng_aio_finish(aio, 0) }
        }
        if case .accepted = submission { return }
        deliver()
    }
}
