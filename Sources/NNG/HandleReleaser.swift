internal import CNNG
import ConcurrencySupport

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
                case .dialer: nng_stream_dialer_free(item.pointer)
                }
            }
        }
    }
}
