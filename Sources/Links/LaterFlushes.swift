import ConcurrencySupport
import Glibc

/// The links of this process on which frames wait to be sent together with later ones.
///
/// A thread looks after them. It sleeps between two looks for as long as it takes many frames to gather, and for good while no link has any.
final class LaterFlushes: Sendable {
    static let shared = LaterFlushes()

    /// The time between two looks; the kernel adds up to as much.
    private static let interval = timespec(tv_sec: 0, tv_nsec: 100_000)

    private struct State {
        var links: [Link] = []
        var isAwake = false
        var hasThread = false
    }

    private let state = Lock(State())
    /// Posted when the thread has to wake.
    private let alarm = Semaphore()

    private init() {}

    /// Has a link flushed soon; at once, if there can be no thread that does it.
    func add(_ link: Link) {
        let (mustWake, mustStart) = state.withLock { state -> (Bool, Bool) in
            state.links.append(link)
            defer { (state.isAwake, state.hasThread) = (true, true) }
            return (!state.isAwake, !state.hasThread)
        }
        if mustWake { alarm.post() }
        guard mustStart, !DetachedThread.run({ self.run() }) else { return }
        let links = state.withLock { state in
            defer { state = State() }
            return state.links
        }
        for link in links { link.flushAsPlanned() }
    }

    private func run() {
        while true {
            alarm.wait()
            repeat {
                var interval = Self.interval
                nanosleep(&interval, nil)
            } while flushAll()
        }
    }

    /// Flushes the links on which nothing has left since the last look.
    ///
    /// - Returns: False when there was none; the thread is asleep from then on.
    private func flushAll() -> Bool {
        let links = state.withLock { state -> [Link] in
            state.isAwake = !state.links.isEmpty
            defer { state.links = [] }
            return state.links
        }
        let busy = links.filter { !$0.flushIfQuiet() }
        if !busy.isEmpty { state.withLock { $0.links += busy } }
        return !links.isEmpty
    }
}
