import ConcurrencySupport
import Synchronization

/// The running handler of a message, as the code that it calls knows it.
///
/// A handler that waits for other coordinators may wait for one that asks back. Each operation that waits for another coordinator therefore
/// says so, and messages of the subtree may begin meanwhile, though as many handlers run as may. Not every handler needs a scope: see
/// `Mailbox.observesHandlers`.
final class HandlerScope: Sendable {
    /// The handler to which the present task belongs; `nil` outside of handlers, and in those that needn't say when they wait.
    @TaskLocal static var current: HandlerScope?

    private let node: Node
    /// The number of waits of the handler's tasks; far below zero once the handler has ended.
    private let waits = Atomic(0)

    init(of node: Node) { self.node = node }

    func belongs(to node: Node) -> Bool { self.node === node }

    /// Performs an operation as a part of a handler, or of none.
    static func perform<Result>(in scope: HandlerScope?, _ operation: () throws -> Result) rethrows -> Result {
        // Most operations are a part of none before and after, and needn't set the value.
        scope == nil && current == nil ? try operation() : try $current.withValue(scope, operation: operation)
    }

    /// Notes that a task of the handler begins to wait for another coordinator.
    ///
    /// - Returns: The wait, which the caller must end.
    func beginWait() -> Wait {
        if waits.add(1, ordering: .acquiringAndReleasing).oldValue == 0 { node.handlerWaits() }
        return Wait(scope: self)
    }

    /// Notes that the handler has ended; a task that it has left running keeps no message from waiting.
    ///
    /// - Returns: Whether the handler was waiting.
    func end() -> Bool { waits.exchange(.min / 2, ordering: .acquiringAndReleasing) > 0 }

    /// A wait of a handler for another coordinator.
    struct Wait {
        fileprivate let scope: HandlerScope

        func end() {
            if scope.waits.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { scope.node.handlerWaitsNoMore() }
        }
    }
}

extension Node {
    /// Notes that a handler waits for another coordinator, and begins the messages of the subtree that have waited for that.
    fileprivate func handlerWaits() {
        let instance = state.withLock { state in
            state.mailbox.handlerWaits()
            return state.instanceToDrain()
        }
        if let instance { beginDraining(instance) }
    }

    fileprivate func handlerWaitsNoMore() { state.withLock { $0.mailbox.handlerWaitsNoMore() } }
}
