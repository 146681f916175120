internal import CNNG
internal import Synchronization

/// The owner of one nng stream, listener or dialer: counts its uses, closes it once, and frees it after the last use.
///
/// All code that passes the pointer to nng holds a use: an operation from its submission until its callback, and a call into nng outside an
/// operation for its duration. `close` takes effect at once; the memory is freed, on `HandleReleaser`'s thread, when the last use has
/// ended. So nothing is freed under a callback, a cancellation or a submission that is still inside nng.
final class Handle: Sendable {
    enum Kind {
        case stream, listener, dialer
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
        if word.load(ordering: .acquiring) & Self.closedBit == 0 {
            HandleReleaser.shared.release(kind, pointer)
        }
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
        if new == Self.closedBit {
            HandleReleaser.shared.release(kind, pointer)
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
        case .dialer: nng_stream_dialer_close(resource)
        }
    }
}
