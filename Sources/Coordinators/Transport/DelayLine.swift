import ConcurrencySupport
import DequeModule
import Synchronization

/// The messages that are under way on a link which a test has made slow, in the order in which they were sent.
final class DelayLine: Sendable {
    private struct State {
        var delay: Duration?
        /// The time at which the last of the messages arrives.
        var last = MonotonicTime(nanoseconds: 0)
        var messages: Deque<@Sendable () -> Void> = []
    }

    private let time: TimeSource
    private let state = Lock(State())
    private let isNeeded = Atomic(false)

    init(_ time: TimeSource) { self.time = time }

    /// Whether messages have to take this way: there is a delay, or earlier ones are still under way.
    var isInUse: Bool { isNeeded.load(ordering: .acquiring) }

    /// Delays every message from now on; `nil`: no more than those before it.
    func delay(by delay: Duration?) {
        let isNeeded = state.withLock { state in
            state.delay = delay
            return delay != nil || !state.messages.isEmpty
        }
        self.isNeeded.store(isNeeded, ordering: .releasing)
    }

    /// Sends a message after the delay, and after those before it.
    func pass(_ send: @escaping @Sendable () -> Void) {
        let arrival = state.withLock { state in
            state.last = max(state.last, time.now + (state.delay ?? .zero))
            state.messages.append(send)
            return state.last
        }
        // Timers of one time may fire in any order: each sends the message that has waited longest.
        _ = time.schedule(at: arrival) { self.sendNext() }
    }

    private func sendNext() {
        state.withLock { $0.messages.first }?()
        state.withLock { state in
            state.messages.removeFirst()
            if state.messages.isEmpty, state.delay == nil { isNeeded.store(false, ordering: .releasing) }
        }
    }
}
