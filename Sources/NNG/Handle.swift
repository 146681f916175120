internal import CNNG
import ConcurrencySupport
internal import Synchronization

/// The owner of one nng stream, listener or dialer: counts its uses, closes it once, and frees it after the last use.
///
/// All code that passes the pointer to nng holds a use: an operation from its submission until its callback, and a call into nng outside an
/// operation for its duration. `close` takes effect at once; the memory is freed when the last use has ended, on `HandleReleaser`'s thread
/// if nng waits for something then. So nothing is freed under a callback, a cancellation or a submission that is still inside nng.
final class Handle: Sendable {
    enum Kind {
        case stream, listener, dialer
        /// A dialer of sockets of this machine: nothing is waited for when it's freed (`ipc_dialer_free` of nng 1.5.2).
        case localDialer
    }

    private static let closedBit: UInt64 = 1 << 63

    let kind: Kind
    // Read only while holding a use, which the atomic word below counts.
    private nonisolated(unsafe) let pointer: OpaquePointer
    /// The number of uses, and in the highest bit whether the handle was closed.
    ///
    /// Once closed, the number only falls.
    private let word = Atomic<UInt64>(0)

    init(_ kind: Kind, owning pointer: OpaquePointer) {
        self.kind = kind
        self.pointer = pointer
    }

    deinit {
        // Operations in flight retain the handle, so there is no use left here.
        if word.load(ordering: .acquiring) & Self.closedBit == 0 { release() }
    }

    var isClosed: Bool {
        word.load(ordering: .acquiring) & Self.closedBit != 0
    }

    /// Begins uses; nil when the handle is closed.
    ///
    /// Each use is ended with `leave`.
    func enter(uses: UInt64 = 1) -> OpaquePointer? {
        var old = word.load(ordering: .relaxed)
        while old & Self.closedBit == 0 {
            let (exchanged, current) = word.weakCompareExchange(expected: old, desired: old + uses, ordering: .acquiringAndReleasing)
            if exchanged { return pointer }
            old = current
        }
        return nil
    }

    func leave() {
        let (_, new) = word.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        if new == Self.closedBit { release() }
    }

    /// Frees what nothing uses any more.
    private func release() {
        switch kind {
        case .localDialer: nng_stream_dialer_free(pointer)
        case .stream, .listener, .dialer: HandleReleaser.shared.release(kind, pointer)
        }
    }

    /// Closes the stream, listener or dialer; later calls do nothing.
    ///
    /// Operations in flight end with `.closed`; their callbacks run on nng's threads, never here.
    ///
    /// nng's close functions take the stream's own lock, mark it closed and shut the descriptor down; they wait for no callback
    /// (`ipc_close`, `ipc_listener_close`, `ipc_dialer_close` of nng 1.5.2), so this may be called from anywhere.
    func close() {
        var old = word.load(ordering: .relaxed)
        while true {
            if old & Self.closedBit != 0 { return }
            let desired = (old + 1) | Self.closedBit
            let (exchanged, current) = word.weakCompareExchange(expected: old, desired: desired, ordering: .acquiringAndReleasing)
            if exchanged { break }
            old = current
        }
        closeResource(pointer)
        leave()
    }

    private func closeResource(_ resource: OpaquePointer) {
        switch kind {
        case .stream: nng_stream_close(resource)
        case .listener: nng_stream_listener_close(resource)
        case .dialer, .localDialer: nng_stream_dialer_close(resource)
        }
    }
}

extension Handle {
    /// Runs one operation on the handle and waits for its end, cancel-safe: when the task is cancelled the operation either had no
    /// effect and `.canceled` is thrown, or it was over already and its outcome is returned.
    ///
    /// `resources` is kept until nng has called back.
    func perform(
        _ name: String,
        address: String,
        timeout: Duration? = nil,
        keeping resources: (any AnyObject & Sendable)? = nil,
        start: (_ resource: OpaquePointer, _ aio: OpaquePointer) -> Void
    ) async throws(NNGError) -> AsyncOperation.Outcome {
        if Task.isCancelled {
            throw NNGError(.canceled, operation: name, address: address)
        }
        let operation = try AsyncOperation(for: name, address: address)
        let request = CancellationRequest()
        var alarm: Alarm?
        if let timeout {
            let timer = try Alarm(for: name, address: address)
            timer.start(after: timeout) { code in
                guard code == nil else { return }
                request.make(.timedOut)
                operation.cancel(.timedOut)
            }
            alarm = timer
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let submission = operation.submit(on: self, request: request) { outcome in
                    _ = resources
                    continuation.resume(returning: outcome)
                } start: { resource, aio in
                    start(resource, aio)
                }
                switch submission {
                case .accepted: break
                case .busy: continuation.resume(returning: AsyncOperation.Outcome(code: .busy))
                case .closed: continuation.resume(returning: AsyncOperation.Outcome(code: .closed))
                }
            }
        } onCancel: {
            request.make(.canceled)
            operation.cancel(.canceled)
        }
        alarm?.cancel()
        if let code = outcome.code {
            throw NNGError(code, operation: name, address: address)
        }
        return outcome
    }
}

/// The one thread on which streams, listeners and dialers are freed.
///
/// Freeing waits for nng's poller (`nni_posix_pfd_fini`), so it may happen neither in a callback nor on the cooperative pool.
final class HandleReleaser: Sendable {
    static let shared = HandleReleaser()

    // Unchecked: only the queue has the pointer now.
    private struct Item: @unchecked Sendable {
        let kind: Handle.Kind
        let pointer: OpaquePointer
    }

    private struct State {
        var items: [Item] = []
        var isRunning = false
    }

    private let state = Lock(State())
    private let wakeUp = Semaphore()

    private init() {}

    /// Queues a pointer that is no longer in use.
    ///
    /// Never blocks.
    func release(_ kind: Handle.Kind, _ pointer: OpaquePointer) {
        let item = Item(kind: kind, pointer: pointer)
        let mustStart = state.withLock { state in
            state.items.append(item)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        wakeUp.post()
        if mustStart, !DetachedThread.run({ self.run() }) {
            // No thread can be made now: the queued pointers wait for the next release, which tries again.
            state.withLock { $0.isRunning = false }
        }
    }

    private func run() {
        while true {
            wakeUp.wait()
            let items = state.withLock { state in
                defer { state.items = [] }
                return state.items
            }
            for item in items {
                switch item.kind {
                case .stream: nng_stream_free(item.pointer)
                case .listener: nng_stream_listener_free(item.pointer)
                case .dialer, .localDialer: nng_stream_dialer_free(item.pointer)
                }
            }
        }
    }
}
