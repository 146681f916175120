internal import CNNG
import ConcurrencySupport
internal import Glibc

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
    // A semaphore needs an address that stays; this one lives as long as the process.
    private nonisolated(unsafe) let wakeUp: UnsafeMutablePointer<sem_t>

    private init() {
        wakeUp = .allocate(capacity: 1)
        sem_init(wakeUp, 0, 0)
    }

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
        sem_post(wakeUp)
        if mustStart, !startThread() {
            // No thread can be made now: the queued pointers wait for the next release, which tries again.
            state.withLock { $0.isRunning = false }
        }
    }

    private func startThread() -> Bool {
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            nil,
            { _ in
                HandleReleaser.shared.run()
            },
            nil
        )
        guard result == 0 else { return false }
        pthread_detach(thread)
        return true
    }

    private func run() -> UnsafeMutableRawPointer? {
        while true {
            while sem_wait(wakeUp) != 0 {}
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
