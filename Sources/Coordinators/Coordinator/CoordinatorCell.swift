import ConcurrencySupport
import DequeModule
import Logging
import Supervision
import Synchronization
import WireProtocol

/// One incarnation of a coordinator in this process: its place in the tree, its mailbox and its children.
///
/// The user's actor has the state of the program, the cell all that the pattern adds to it. A restart makes a new cell, of the next
/// incarnation, while path and key stay. Its parent's `ChildSupervisor` starts and stops it as a ``ChildHost``; messages reach it by `climb` from
/// below, and from above by that supervisor.
///
/// What always holds:
/// - One lock guards the state, and no code of users runs under it.
/// - The mailbox's items begin one after the other, in a `MailboxRun`, of which there's at most one.
/// - A message that was taken ends exactly once: by its handler, by what its sender does, or by the end of the cell.
/// - The phases go one way only.
/// - A parent outlives its children: it has stopped when nothing is left of them.
final class CoordinatorCell: ConfiguredReceiver {
    /// The reason why a coordinator ends by itself.
    enum End: Sendable {
        case finished(Answer)
        case returned
        case failed(ExitReason)
    }

    enum Phase {
        /// The `start` hook runs. Can transition to: active, stopping.
        case starting
        /// The coordinator is ready. Can transition to: draining, stopping.
        case active
        /// The coordinator finishes what it has taken, and takes messages only from its descendants and itself.
        /// Can transition to: stopping.
        case draining
        /// The coordinator takes messages only from its descendants, and waits for their end. Can transition to: stopped.
        case stopping
        /// Nothing is left of the coordinator but this object.
        case stopped
    }

    /// A piece of code that runs for the coordinator: the body of a row, a hook, or a task of the coordinator's own.
    struct Handler {
        var envelope: Envelope?
        var task: Task<Void, Never>?
        /// The signal of a hook's end, settled when it has ended or is waited for no more; `nil` for other handlers.
        var hook: OneShot<Void>?
        /// Whether the handler's message was cancelled.
        var isCancelled = false
        /// The number of operations on children for which the handler waits, which take the time that they take.
        var waitsForChildren: UInt32 = 0
    }

    /// The coordinator itself, and the progress of its life.
    struct RunState {
        var instance: (any Coordinator)?
        /// What the owner of this life knows of it.
        var hostPhase: HostPhase
        var phase = Phase.starting
        /// Whether the coordinator has declared that it ends by itself.
        var hasEnded = false
        /// Whether the `run` hook has returned.
        var hasRun = false
        /// Whether all handlers are cancelled, those that begin included.
        var cancelsHandlers = false
        /// Whether a drain waits for the `run` hook, whatever its code does.
        var awaitsRun = false
    }

    /// What few coordinators have, and what doesn't change.
    final class Attributes: Sendable {
        /// The border that messages to and from the coordinator cross, if it stands for a worker in a test.
        let border: Border?
        /// The events of this life, if their owner isn't in the coordinator's process.
        let events: Box<HostEvents>?
        /// The time within which the coordinator has to be ready; `nil`: that of the runtime's options.
        let startTimeout: Duration?
        /// The coordinator's logger, made when it's first needed.
        let logger = LazyReference<Box<Logger>>()

        init(_ border: Border? = nil, _ events: HostEvents? = nil, startTimeout: Duration? = nil) {
            (self.border, self.events, self.startTimeout) = (border, events.map { Box($0) }, startTimeout)
        }
    }

    final class Stop: Sendable {
        /// The time that the stop may take, the drain included.
        let grace: Grace
        /// The time in which the coordinator finishes what it has taken; `nil`: that is cancelled at once.
        let drain: Grace?
        /// Whether the coordinator has failed rather than been told to stop.
        let hasFailed: Bool
        /// The end of the stop, settled with whether no code had to be abandoned.
        let end = OneShot<Bool>()

        init(_ shutdown: Shutdown, hasFailed: Bool = false, _ time: TimeSource) {
            grace = Grace(shutdown.grace, time)
            drain = shutdown.drain.map { Grace($0, time) }
            self.hasFailed = hasFailed
        }

        /// Shortens the time, of the drain too.
        func shorten(to limit: Duration) {
            grace.shorten(to: limit)
            if let drain, let rest = Shutdown.draining(limit).drain { drain.shorten(to: rest) }
        }

        /// Returns the shutdown of a child within this stop.
        func limited(_ shutdown: Shutdown) -> Shutdown {
            guard let drain, let time = drain.remaining, let rest = grace.remaining else { return shutdown }
            return time > .zero ? shutdown.draining(within: time) : shutdown.limited(to: rest)
        }
    }

    struct Handlers {
        var running: [UInt64: Handler] = [:]
        /// The items that are begun one after the other at the moment.
        var batch: [Mailbox.Item] = []
        /// The number of the run that is under way; zero when none is.
        private(set) var run: UInt64 = 0
        /// The task of the run that is under way, once it's known.
        var runTask: Task<Void, Never>?

        /// Notes a run that is about to begin, under a number that nothing else has.
        mutating func addRun(_ number: UInt64) -> UInt64 {
            (run, runTask) = (number, nil)
            return number
        }

        /// Makes the task of the run the one of a handler, which has the run's number.
        mutating func add(_ envelope: Envelope?, inRun number: UInt64) -> Task<Void, Never>? {
            let task = number == run ? runTask : nil
            running[number] = Handler(envelope: envelope, task: task)
            (run, runTask) = (0, nil)
            return task
        }

        mutating func endRun() { (run, runTask) = (0, nil) }

        /// Notes the task behind a handler.
        ///
        /// - Returns: Whether its message was cancelled before the task was known.
        mutating func own(_ task: Task<Void, Never>, _ number: UInt64) -> Bool {
            running[number]?.task = task
            return running[number]?.isCancelled == true
        }

        /// Notes that the message of a handler was cancelled.
        ///
        /// - Returns: The task behind it, if it's known.
        mutating func cancel(_ number: UInt64) -> Task<Void, Never>? {
            running[number]?.isCancelled = true
            return running[number]?.task
        }
    }

    /// The data that most coordinators don't have.
    struct Extras: Emptiable {
        var features = FeatureStates()
        /// The open asks that equal ones may join, once there was one.
        var sharedAsks: SharedAsks?

        var waitingForChildren: WaitingForChildren = [:]
        /// The lock under which the coordinator's pauses and resumptions come one after the other, once there was one.
        var transitions: AsyncLock?
        /// The lock under which a tab coordinator's selections come one after the other, once there was one.
        var selections: AsyncLock?
        /// The callers that wait until no handler runs, and none is about to begin.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        /// The waits for the ends of messages.
        var drainWaits: [DrainWait] = []
        /// What the coordinator's code learns of a drain, once it has asked or there is one.
        var drainNotice: DrainNotice?
        /// The stop of a coordinator that no owner has told to stop: of the root, as its runtime ends.
        var ownStop: Stop?
        /// The acknowledged messages from other processes that the coordinator has taken, once there was one.
        var taking: DeliveryDeduplication?
        /// The handlers that run on though their messages were cancelled long ago.
        var stuck: [StuckHandler] = []
        /// The number of searches for a cycle that are still to come.
        var cycleLooks = 0
        /// Whether the latest search has found a cycle that another coordinator of it is to end.
        var hasLeftCycle = false

        var isEmpty: Bool {
            features.isEmpty && waitingForChildren.isEmpty
                && sharedAsks == nil && taking == nil && transitions == nil
                && selections == nil && idleWaiters.isEmpty && drainWaits.isEmpty && stuck.isEmpty && drainNotice == nil
                && cycleLooks == 0 && ownStop == nil
        }
    }

    struct State {
        var life: RunState
        var pauseReasons: PauseReasons
        var mailbox: Mailbox
        var dependencies: CellDependencies
        /// The configuration, in a box of its type, set before the coordinator is made.
        var configuration: (any AnyObject & Sendable)?
        var supervision: (any ChildSupervision)?
        var handlers = Handlers()
        /// The task of the `run` hook while it runs; the reference to an ended task would keep all its memory.
        var runTask: Task<Void, Never>?
        private var storedExtras = LazyStorage<Extras>()

        init(life: RunState, pauseReasons: PauseReasons, mailbox: Mailbox, dependencies: CellDependencies) {
            self.life = life
            self.pauseReasons = pauseReasons
            self.mailbox = mailbox
            self.dependencies = dependencies
        }

        /// Notes a handler.
        ///
        /// - Returns: Its number.
        mutating func add(_ handler: Handler) -> UInt64 {
            let number = mailbox.nextNumber()
            handlers.running[number] = handler
            return number
        }

        var extras: Extras {
            _read { yield storedExtras.value }
            _modify { yield &storedExtras.value }
        }

        /// The end of the coordinator, once that was requested.
        var stop: Stop? {
            if hasExtras, let own = extras.ownStop { return own }
            return if case .ended(let stop) = life.hostPhase { stop } else { nil }
        }

        /// Notes a stop that begins.
        mutating func begin(_ stop: Stop, _ phase: Phase) {
            life.phase = phase
            if case .ended(let requested) = life.hostPhase, requested === stop { return }
            extras.ownStop = stop
        }

        /// Whether the coordinator has any of the data that most don't have: to look is quicker than to read what is empty.
        var hasExtras: Bool { !storedExtras.isEmpty }
    }

    let path: CoordinatorPath
    /// The time at which this life began: a message that may have been handled before may have been by a former life.
    var born: MonotonicTime { MonotonicTime(nanoseconds: bornAt.load(ordering: .relaxed)) }
    private let bornAt = Atomic(MonotonicTime.now.nanoseconds)
    let type: CoordinatorType
    /// The parent, held strongly: a parent drops its child, and with it this reference, when the child ends.
    let parent: CoordinatorCell?
    let runtime: RuntimeCore
    let state: Lock<State>
    /// The open asks, made when the coordinator asks first.
    private let ownOpenAsks = LazyReference<OpenAsks>()
    /// What few coordinators have, made at the first need.
    let attributes = LazyReference<Attributes>()
    #if !SLOW_PATH_ONLY
    /// The turn of the direct ask that is on the coordinator's executor.
    ///
    /// Far from the reference counts and the lock: a task that looks for it would slow down the one that has it.
    let directTurn = DirectTurn()
    #endif
    /// The incarnation, which stands in the gap behind the turn.
    let incarnation: Incarnation

    /// - Parameters:
    ///   - startTimeout: The time within which it has to be ready, if another process says so.
    ///   - events: The events of this life, of a coordinator without a parent in this process.
    init(
        type: CoordinatorType,
        configuration: ConfigurationValue,
        path: CoordinatorPath,
        incarnation: Incarnation,
        parent: CoordinatorCell?,
        runtime: RuntimeCore,
        startTimeout: Duration? = nil,
        startContext: StartContext = StartContext(),
        events: HostEvents? = nil
    ) {
        (self.type, self.path, self.incarnation, self.parent, self.runtime) = (type, path, incarnation, parent, runtime)
        let border = startContext.isBehindBorder && runtime.options.encodesBorders ? Border(of: path, runtime.time) : nil
        if border != nil || events != nil || startTimeout != nil {
            _ = attributes.storeIfNil(Attributes(border, events, startTimeout: startTimeout))
        }
        state = Lock(
            State(
                life: RunState(hostPhase: .created(configuration)),
                pauseReasons: startContext.pauseReasons,
                mailbox: Mailbox(type.mailbox),
                dependencies: CellDependencies(
                    inherited: startContext.dependencies,
                    overrides: runtime.options.dependencyOverrides,
                    isBehindBorder: startContext.isBehindBorder
                )
            )
        )
        if startContext.isDraining { noteDrain() }
        runtime.observation.counts.coordinators.add(1, ordering: .relaxed)
    }

    deinit {
        runtime.observation.counts.coordinators.subtract(1, ordering: .relaxed)
        state.withLock { state in
            // A coordinator that has stopped has none.
            if state.mailbox.messageCount > 0 { state.mailbox.waitingMessages.forEach { $0.forgetTaker() } }
        }
    }

    var typeName: String { type.name }

    /// Notes that the life begins only now: a root is made before it waits for the end of what another process has left.
    func noteBirth() { bornAt.store(MonotonicTime.now.nanoseconds, ordering: .relaxed) }

    /// Returns a receiver of messages as what each of them is.
    @inline(__always)
    static func of(_ receiver: any MessageReceiver) -> CoordinatorCell { unsafeDowncast(receiver, to: CoordinatorCell.self) }

    /// Whether the coordinator is the root of the whole tree, which has no parent in another process either.
    var isRoot: Bool { parent == nil && runtime.links.uplink == nil }

    var openAsks: OpenAsks { ownOpenAsks.load() ?? ownOpenAsks.storeIfNil(OpenAsks(runtime.time)) }

    var existingOpenAsks: OpenAsks? { ownOpenAsks.load() }

    /// Ends the open asks, and every later one too.
    func endOpenAsks() {
        let noAsks = runtime.execution.noAsks
        let asks = ownOpenAsks.storeIfNil(noAsks)
        if asks !== noAsks { asks.end(with: .hasStopped(path), forGood: true) }
    }

    /// The supervisor of the children, made when the first child is.
    var supervision: any ChildSupervision {
        state.withLock { state in
            if let supervision = state.supervision { return supervision }
            guard let supervision = runtime.supervise(self) as? any ChildSupervision else {
                preconditionFailure("it returns a ChildSupervision")
            }
            switch state.life.phase {
            case .starting, .active, .draining: state.supervision = supervision
            // Children that are started now would never be ended.
            case .stopping, .stopped: supervision.refuse()
            }
            return supervision
        }
    }

    /// Returns one of the locks that most coordinators never need, made when it's first needed.
    func lock(_ lock: any WritableKeyPath<Extras, AsyncLock?> & Sendable) -> AsyncLock {
        state.withLock { state in
            if let existing = state.extras[keyPath: lock] { return existing }
            let new = AsyncLock()
            state.extras[keyPath: lock] = new
            return new
        }
    }

    /// The border that messages to and from the coordinator cross, if it stands for a worker in a test.
    var border: Border? { attributes.withInstance { $0.border } ?? nil }

    /// A logger whose metadata names the coordinator.
    var logger: Logger {
        let attributes = attributes.load() ?? attributes.storeIfNil(Attributes())
        if let logger = attributes.logger.load() { return logger.value }
        var logger = runtime.observation.logger
        logger[metadataKey: "coordinator.path"] = "\(path)"
        return attributes.logger.storeIfNil(Box(logger)).value
    }

    var existingSupervision: (any ChildSupervision)? { state.withLock { $0.supervision } }

    /// Whether the coordinator's own stop has begun.
    var isStopping: Bool {
        state.withLock { state in
            switch state.life.phase {
            case .starting, .active, .draining: false
            case .stopping, .stopped: true
            }
        }
    }

    /// Sends an event to the delegates.
    func emit(_ event: Answer) {
        guard let event = crossed(event, "an event") else { return }
        tell(.emitted(event))
        runtime.observation.tap.publish(TreeEvent(.event(type: type.name), at: path))
    }

    /// Returns an event or output as it arrives across the border, if there is one; `nil` if it can't cross.
    private func crossed(_ answer: Answer, _ what: String) -> Answer? {
        guard let border else { return answer }
        do {
            return try border.crossed(answer, of: "\(what) of \(type.name)")
        } catch {
            logger.error("what a coordinator tells can't cross to another process", metadata: ["error": "\(error)"])
            runtime.observation.deadLetters.record(
                DeadLetter(name: type.name, sender: path, target: path, reason: .undeliverable(error.message))
            )
            return nil
        }
    }

    /// Ends the coordinator, which has finished or failed by itself; only the first call counts.
    func end(_ end: End) {
        let (isFirst, isDraining) = state.withLock { state -> (Bool, Bool) in
            switch state.life.phase {
            case .starting, .active, .draining: break
            case .stopping, .stopped: return (false, false)
            }
            defer { state.life.hasEnded = true }
            return (!state.life.hasEnded, state.life.phase == .draining)
        }
        guard isFirst else { return }
        switch end {
        case .finished(let output):
            guard let output = crossed(output, "the output") else {
                return endByItself(.failed("its output can't cross to its parent's process"))
            }
            report(.finished(output))
        // The stop that goes with a drain is under way.
        case .returned: if !isDraining { endByItself(.normal) }
        case .failed(let reason): endByItself(reason)
        }
    }
}

/// What features keep for a coordinator, by the types of what they keep.
struct FeatureStates: Sendable {
    private var all: [ObjectIdentifier: any Emptiable & Sendable] = [:]

    var isEmpty: Bool { all.isEmpty }

    /// What one feature keeps; it's lent without a copy.
    subscript<State: Emptiable & Sendable>(_ type: State.Type) -> State {
        get { all[ObjectIdentifier(type)] as? State ?? State() }
        _modify {
            var state = all.removeValue(forKey: ObjectIdentifier(type)) as? State ?? State()
            defer { if !state.isEmpty { all[ObjectIdentifier(type)] = state } }
            yield &state
        }
    }
}
