import ConcurrencySupport

/// A gate before which threads stand still until a test opens it.
///
/// In place of a busy loop or of a sleep: a handler that must be busy is so until the test has seen what it wants to see. A task waits
/// for a `OneShot` instead, and gives up its thread meanwhile.
public final class ThreadGate: Sendable {
    private struct State {
        var isOpen: Bool
        var waiting: [Semaphore] = []
    }

    private let state: Lock<State>

    public init(isOpen: Bool = false) { state = Lock(State(isOpen: isOpen)) }

    /// Whether a thread waits for the gate.
    public var isAwaited: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Blocks the thread until the gate is open.
    public func pass() {
        let semaphore = Semaphore()
        let mustWait = state.withLock { state in
            if !state.isOpen { state.waiting.append(semaphore) }
            return !state.isOpen
        }
        if mustWait { semaphore.wait() }
    }

    /// Lets all go on that wait, and all that come.
    public func open() {
        let waiting = state.withLock { state in
            defer { state = State(isOpen: true) }
            return state.waiting
        }
        for semaphore in waiting { semaphore.post() }
    }

    /// Lets no thread pass from now on.
    public func close() { state.withLock { $0.isOpen = false } }
}
