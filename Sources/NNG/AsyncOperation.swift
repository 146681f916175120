internal import CNNG
import ConcurrencySupport
internal import Synchronization

/// The owner of one `nng_aio`: runs at most one operation at a time, and calls back once for each.
///
/// This type closes the gaps that nng 1.5.2 leaves to its users:
/// - Submitting a busy aio aborts the process; here it is `Submission.busy`.
/// - Cancelling before the operation has begun does nothing, and an operation that begins after its stream was closed never ends; so
///   both requests are looked at once more after the submission.
/// - A cancellation may still be inside nng, with the stream's pointer in its hand, when the callback comes. The completion then runs
///   when the cancellation has returned, on the cancelling thread; only afterwards can the stream be freed or the aio be used again.
/// - While in flight the operation retains itself and its handle. `deinit` leaves the aio to nng's reaper, because the last reference
///   may go inside the aio's own callback, where freeing would wait for itself.
///
/// nng may run the next callback while the previous one still runs on another thread: after resubmitting, touch nothing.
final class AsyncOperation: @unchecked Sendable {
    /// The result of an operation.
    ///
    /// `output` (a dialled or accepted stream) belongs to the receiver of the outcome, which is what makes it sendable.
    struct Outcome: @unchecked Sendable {
        var code: NNGError.Code?
        var count = 0
        var output: OpaquePointer?
    }

    enum Submission {
        case accepted
        case busy
        case closed
    }

    typealias Completion = @Sendable (Outcome) -> Void

    private enum Phase {
        case idle
        case inFlight(Completion, Handle?)
        /// Called back while a cancellation was inside nng. Can transition to: idle, by the cancellation.
        case calledBack(Completion, Handle?, Outcome)
    }

    private struct State {
        var phase = Phase.idle
        var cancellations = 0
    }

    private let state = Lock(State())
    // nng guards what is behind it.
    private let aio: OpaquePointer
    // The context that nng's callback gets: it exists before self does. Written once, in init.
    private let context: UnsafeMutablePointer<Unmanaged<AsyncOperation>>

    init(for operation: String, address: String) throws(NNGError) {
        context = .allocate(capacity: 1)
        var aio: OpaquePointer?
        let result = nng_aio_alloc(&aio, { AsyncOperation.callBack($0) }, context)
        guard result == 0, let aio else {
            context.deallocate()
            throw NNGError(.init(rawValue: result), operation: operation, address: address)
        }
        self.aio = aio
        context.initialize(to: .passUnretained(self))
    }

    deinit {
        context.deallocate()
        nng_aio_reap(aio)
    }

    /// Submits: `start` is called, with the handle's pointer and the aio, exactly when the answer is `accepted`, and `completion` then
    /// exactly once, on one of nng's threads or on that of a cancellation, perhaps before this returns.
    func submit(
        on handle: Handle,
        request: CancellationRequest? = nil,
        completion: @escaping Completion,
        start: (_ resource: OpaquePointer, _ aio: OpaquePointer) -> Void
    ) -> Submission {
        // One use for the operation, one for this call: nng is still inside the stream when the callback runs elsewhere.
        guard let resource = handle.enter(uses: 2) else { return .closed }
        guard let aio = claimOperation(completion, handle) else {
            handle.leave()
            handle.leave()
            return .busy
        }
        start(resource, aio)
        if let reason = request?.reason {
            cancel(reason)
        } else if handle.isClosed {
            cancel(.closed)
        }
        handle.leave()
        return .accepted
    }

    /// Submits something that needs no handle: a sleep, or an immediate callback.
    func submit(completion: @escaping Completion, start: (_ aio: OpaquePointer) -> Void) -> Submission {
        guard let aio = claimOperation(completion, nil) else { return .busy }
        start(aio)
        return .accepted
    }

    /// Asks the operation in flight to end with `reason`, unless it ends otherwise first.
    ///
    /// Nothing happens when there is none.
    func cancel(_ reason: NNGError.Code) {
        let isInFlight = state.withLock { state in
            guard case .inFlight = state.phase else { return false }
            state.cancellations += 1
            return true
        }
        guard isInFlight else { return }
        nng_aio_abort(aio, reason.rawValue)
        let (completion, handle, outcome) = state.withLock { state -> (Completion?, Handle?, Outcome) in
            state.cancellations -= 1
            guard state.cancellations == 0, case .calledBack(let completion, let handle, let outcome) = state.phase else {
                return (nil, nil, Outcome())
            }
            state.phase = .idle
            return (completion, handle, outcome)
        }
        handle?.leave()
        completion?(outcome)
    }

    private func claimOperation(_ completion: @escaping Completion, _ handle: Handle?) -> OpaquePointer? {
        let isFree = state.withLock { state in
            guard case .idle = state.phase else { return false }
            state.phase = .inFlight(completion, handle)
            return true
        }
        guard isFree else { return nil }
        // Balanced in `callBack`.
        _ = Unmanaged.passRetained(self)
        return aio
    }

    private static func callBack(_ context: UnsafeMutableRawPointer?) {
        context?.load(as: Unmanaged<AsyncOperation>.self).takeRetainedValue().calledBack()
    }

    private func calledBack() {
        let result = nng_aio_result(aio)
        var outcome = Outcome()
        if result == 0 {
            outcome.count = nng_aio_count(aio)
            outcome.output = nng_aio_get_output(aio, 0).map { OpaquePointer($0) }
        } else {
            outcome.code = NNGError.Code(rawValue: result)
        }
        let (completion, handle) = state.withLock { [outcome] state -> (Completion?, Handle?) in
            guard case .inFlight(let completion, let handle) = state.phase else { return (nil, nil) }
            if state.cancellations > 0 {
                state.phase = .calledBack(completion, handle, outcome)
                return (nil, nil)
            }
            state.phase = .idle
            return (completion, handle)
        }
        handle?.leave()
        completion?(outcome)
    }
}

/// A request to end one operation, which may be made before that operation is submitted.
///
/// If there are several requests, the first one's reason counts.
final class CancellationRequest: Sendable {
    private let code = Atomic<Int32>(0)

    var reason: NNGError.Code? {
        let value = code.load(ordering: .acquiring)
        return value == 0 ? nil : NNGError.Code(rawValue: value)
    }

    func make(_ reason: NNGError.Code) {
        _ = code.compareExchange(expected: 0, desired: reason.rawValue, ordering: .acquiringAndReleasing)
    }
}
