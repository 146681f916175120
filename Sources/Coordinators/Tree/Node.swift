import DequeModule
import Logging
import Synchronization
import WireProtocol

/// One incarnation of a coordinator in this process: its place in the tree, its mailbox and its children.
final class Node: Sendable {
    /// Why a coordinator ends by its own doing.
    enum End: Sendable {
        case finished(Answer)
        case returned
        case failed(ExitReason)
        case dismissalRequested
    }

    enum Phase {
        /// The `start` hook runs. Can transition to: active, stopping.
        case starting
        /// Ready. Can transition to: stopping.
        case active
        /// Closed to all but descendants, whose end it waits for. Can transition to: stopped.
        case stopping
        /// Nothing is left but this object.
        case stopped
    }

    /// A body of a row that has begun.
    struct Handler {
        var envelope: Envelope?
        var task: Task<Void, Never>?
    }

    struct State {
        var phase = Phase.starting
        var instance: (any Coordinator)?
        var mailbox = Mailbox()
        var handlers: [UInt64: Handler] = [:]
        var nextHandler: UInt64 = 0
        var areHandlersCancelled = false
        var runTask: Task<Void, Never>?
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        var children: ChildSupervisor?
        var hasEnded = false
    }

    let path: CoordinatorPath
    let incarnation: Incarnation
    let type: CoordinatorType
    /// Held strongly: a parent drops its child, and with it this reference, when the child ends.
    let parent: Node?
    let runtime: RuntimeCore
    let openAsks = OpenAsks()
    let since = MonotonicTime.now
    /// How the stop has ended: whether nothing had to be abandoned.
    let end = Ending<Bool>()
    let logger: Logger
    let state = Mutex(State())
    private let onEnd: @Sendable (End) -> Void

    init(
        path: CoordinatorPath,
        incarnation: Incarnation,
        type: CoordinatorType,
        parent: Node?,
        runtime: RuntimeCore,
        onEnd: @escaping @Sendable (End) -> Void
    ) {
        self.path = path
        self.incarnation = incarnation
        self.type = type
        self.parent = parent
        self.runtime = runtime
        self.onEnd = onEnd
        var logger = runtime.logger
        logger[metadataKey: "coordinator.path"] = "\(path)"
        self.logger = logger
    }

    /// The children's supervisor, made when the first child is.
    var children: ChildSupervisor {
        state.withLock { state in
            if let children = state.children { return children }
            let children = ChildSupervisor(node: self)
            switch state.phase {
            case .starting, .active: state.children = children
            // Nobody would end its children any more.
            case .stopping, .stopped: children.refuse()
            }
            return children
        }
    }

    var existingChildren: ChildSupervisor? { state.withLock { $0.children } }

    /// Tells the host, once, that the coordinator ends by its own doing.
    func end(_ end: End) {
        let isFirst = state.withLock { state -> Bool in
            guard !state.hasEnded, state.phase == .active || state.phase == .starting else { return false }
            if case .dismissalRequested = end { return true }
            state.hasEnded = true
            return true
        }
        if isFirst { onEnd(end) }
    }
}
