internal import CNNG
import ConcurrencySupport
internal import Synchronization

/// The receiving half of a pair connection: one read in flight, many messages per read, parsed in place.
///
/// A read is in flight whenever there is room, even without a consumer. So the end of a peer is noticed at once, and nng's poller is never
/// left with a stream that has no pending read.
///
/// Bytes `buffer[head..<tail]` are unread. They, `head` and `large` belong to the holder of the *turn* (`hasTurn`); `buffer[tail...]`
/// belongs to nng while a read is in flight. Code that finds the turn taken sets `lookAgain` and returns: that keeps the delivery serial
/// and ordered although nng calls back on several threads.
final class MessageReader: @unchecked Sendable {
    typealias OnMessage = @Sendable ([UInt8]) -> Void
    typealias OnClose = @Sendable (NNGError) -> Void
    typealias Waiter = CheckedContinuation<Result<[UInt8], NNGError>, Never>

    static let bufferSize = 1 << 16

    enum Consumer {
        /// Messages wait in the buffer. Can transition to: callbacks, waiter.
        case none
        /// Messages go to callbacks. Can transition to: finished.
        case callbacks(OnMessage, OnClose)
        /// A task waits in `receive`. Can transition to: none.
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
        /// The number of bytes that have been read into `large` and that it hasn't counted yet.
        var largeCount = 0
        /// A message whose receiver was cancelled while it was parsed.
        var ready: [UInt8]?
        var reading = Reading.none
        var hasTurn = false
        var lookAgain = false
        var consumer = Consumer.none
        /// An error of a read that is tried once more, because it may hide unread bytes.
        var suspicion: NNGError.Code?
        /// The reason why nothing more will be read.
        var end: NNGError?
    }

    let handle: Handle
    let address: String
    /// The encryption of the connection; nil when there is none.
    let session: TLSSession?
    let maximumMessageSize: Atomic<Int>
    let reservation: LargeMessageReservation?
    let operation: AsyncOperation
    // The comment of the class describes which part belongs to nng and which to the holder of the turn.
    let buffer: UnsafeMutableRawBufferPointer
    let state = Lock(State())
    let closedHere = Atomic<Bool>(false)

    init(of stream: ByteStream, maximumMessageSize: Int, reservation: LargeMessageReservation? = nil) throws(NNGError) {
        self.reservation = reservation
        (handle, address, session) = (stream.handle, stream.address, stream.session)
        self.maximumMessageSize = Atomic(maximumMessageSize)
        operation = try AsyncOperation(for: "receive", address: address)
        // Not initialised, so that an idle connection touches no page of it.
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 16)
    }

    deinit {
        buffer.deallocate()
    }

    /// Delivers the messages that have arrived; if another thread is delivering, that one checks again.
    ///
    /// The first call begins to read.
    func takeTurn() {
        let isFree = state.withLock { state in
            state.lookAgain = true
            defer { state.hasTurn = true }
            return !state.hasTurn
        }
        if isFree { deliver() }
    }

    /// Delivers messages to callbacks from now on.
    ///
    /// Returns false when there is a consumer already.
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
            // Messages have arrived already. The callbacks run on nng's threads, never on the caller's, which may hold locks that they
            // need.
            deliverElsewhere()
        }
        return isFirst
    }

    /// Waits for one message.
    ///
    /// Cancellation ends the wait and loses no message.
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
    /// Only the end is delivered after this, with `reason` unless there was another reason before.
    /// - Parameter lastAct: Is called while the connection can still be written to.
    func close(_ reason: NNGError, after lastAct: () -> Void = {}) {
        state.withLock { state in
            if state.end == nil { state.end = reason }
            state.lookAgain = true
        }
        closedHere.store(true, ordering: .releasing)
        lastAct()
        // A consumer always has a read in flight or the turn; either delivers the end.
        handle.close()
    }

    /// The code with which the peer ended the connection; nil if the peer didn't end it.
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

/// Memory that nng reads into or writes from while an operation is in flight.
final class TransferBuffer: @unchecked Sendable {
    // Touched by one side at a time: by nng during the operation, by the task before and after it.
    let bytes: UnsafeMutableRawBufferPointer

    init(capacity: Int) {
        bytes = .allocate(byteCount: capacity, alignment: 1)
    }

    convenience init(copying source: [UInt8]) {
        self.init(capacity: source.count)
        bytes.copyBytes(from: source)
    }

    deinit {
        bytes.deallocate()
    }
}

/// Takes note of the length of a message that is larger than the reader's buffer and hasn't arrived yet.
///
/// What it returns is kept until all of the message has arrived, or the connection is forgotten.
public typealias LargeMessageReservation = @Sendable (_ length: Int) -> any AnyObject & Sendable

/// A message larger than the reader's buffer, which is read straight into its array.
final class LargeMessage: @unchecked Sendable {
    let body: [UInt8]
    // The storage of `body`: written by nng until the message is complete; until then `body` is neither read nor copied.
    private let storage: UnsafeMutableRawBufferPointer
    // Belongs to the holder of the reader's turn.
    private var filled = 0
    private let reservation: (any AnyObject & Sendable)?

    init(length: Int, _ reservation: (any AnyObject & Sendable)?) {
        self.reservation = reservation
        var storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        // Not initialised: a peer that announces much and sends little costs address space only. Every byte is written before `body` is
        // given away.
        body = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            storage = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<length])
            count = length
        }
        self.storage = storage
    }

    /// The memory for the bytes that are missing.
    var missing: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: storage[filled...])
    }

    var isComplete: Bool {
        filled == storage.count
    }

    /// Copies as many of `bytes` as are missing, and returns their number.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, storage.count - filled)
        missing.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        filled += count
        return count
    }

    /// Counts bytes that nng has written.
    func advance(by count: Int) {
        filled += count
    }
}
