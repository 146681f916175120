import ConcurrencySupport
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
        /// Until it has stopped.
        var owner: (any NodeOwner)?
        var mailbox: Mailbox
        var pauseReasons: PauseReasons
        var dependencies: NodeDependencies
        /// The coordinator's own pages, bottom first.
        var pages: [NavigationEntry] = []
        /// The active child of a tab coordinator.
        var selected: String?
        var handlers: [UInt64: Handler] = [:]
        var nextHandler: UInt64 = 0
        var areHandlersCancelled = false
        /// Who waits for a hook.
        var hooks: [UInt64: OneShot<Void>] = [:]
        /// While the hook runs: a task that has ended would be kept with all its memory.
        var runTask: Task<Void, Never>?
        var hasRun = false
        /// Made when it's first wanted.
        var logger: Logger?
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        var children: ChildSupervisor?
        var hasEnded = false
        /// An ask is on its way to the coordinator in the asker's task: nothing may overtake it.
        var isDirectAskPending = false
        /// Set when the stop begins.
        var hasFailed = false
        var grace: Grace?
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
    let end = OneShot<Bool>()
    let state: Lock<State>
    /// Transitions of one coordinator come one after the other.
    let transitions = LazyAsyncLock()
    /// So do a tab coordinator's selections.
    let selections = LazyAsyncLock()
    /// The stack of pages that this coordinator and those below it share, if it owns one.
    let ownNavigation: NavigationStack?

    init(_ parameters: NodeParameters, owner: (any NodeOwner)?) {
        path = parameters.path
        incarnation = parameters.incarnation
        type = parameters.type
        parent = parameters.parent
        runtime = parameters.runtime
        let isRoot = parent == nil && runtime.uplink == nil
        ownNavigation = isRoot || type.ownsNavigation ? NavigationStack() : nil
        state = Lock(
            State(
                owner: owner,
                mailbox: Mailbox(type.mailbox),
                pauseReasons: parameters.inheritance.pauseReasons,
                dependencies: NodeDependencies(inherited: parameters.inheritance.dependencies, overrides: runtime.overrides)
            )
        )
        runtime.counts.coordinators.add(1, ordering: .relaxed)
    }

    deinit { runtime.counts.coordinators.subtract(1, ordering: .relaxed) }

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

    /// Who has begun this life; nobody once it's over.
    var owner: (any NodeOwner)? { state.withLock { $0.owner } }

    /// A logger that says which coordinator speaks.
    var logger: Logger {
        state.withLock { state in
            if let logger = state.logger { return logger }
            var logger = runtime.logger
            logger[metadataKey: "coordinator.path"] = "\(path)"
            state.logger = logger
            return logger
        }
    }

    var existingChildren: ChildSupervisor? { state.withLock { $0.children } }

    /// Tells the delegates something.
    func emit(_ event: Answer) {
        owner?.emitted(event)
        runtime.tap.publish(.emitted(at: path, type.name))
    }

    /// Tells the host, once, that the coordinator ends by its own doing.
    func end(_ end: End) {
        let isFirst = state.withLock { state -> Bool in
            guard !state.hasEnded, state.phase == .active || state.phase == .starting else { return false }
            state.hasEnded = true
            return true
        }
        if isFirst { owner?.ended(end) }
    }
}

/// Who has begun a coordinator's life, and hears what it does.
protocol NodeOwner: AnyObject, Sendable {
    /// It ends by its own doing; told once.
    func ended(_ end: Node.End)
    /// It tells its delegates something.
    func emitted(_ event: Answer)
    /// It would like to be dismissed within the time; whether that is granted.
    func dismissalRequested(_ timeout: Duration) async -> Bool
}
