import ConcurrencySupport
public import Coordinators

/// A resource that dies when it's told to.
public final class Lamp: Scene {
    private struct State {
        var isLit = true
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())
    private let notebook: Notebook
    private let path: CoordinatorPath

    init(_ notebook: Notebook, _ path: CoordinatorPath) {
        self.notebook = notebook
        self.path = path
        notebook.note(path, "lit")
    }

    public var isLit: Bool { state.withLock { $0.isLit } }

    /// Dies by itself.
    public func burnOut() {
        notebook.note(path, "burnt out")
        end()
    }

    public func close() async {
        if isLit { notebook.note(path, "closed") }
        end()
    }

    public func waitUntilClosed() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    let isOver = !state.isLit || Task.isCancelled
                    if !isOver { state.waiters.append(continuation) }
                    return isOver
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            for waiter in takeWaiters() { waiter.resume() }
        }
    }

    private func takeWaiters() -> [CheckedContinuation<Void, Never>] {
        state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
    }

    private func end() {
        state.withLock { $0.isLit = false }
        for waiter in takeWaiters() { waiter.resume() }
    }
}
