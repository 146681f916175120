import ConcurrencySupport
import Processes
import Supervision
import WireProtocol

/// The supervisor of a coordinator's children, as the coordinator knows it.
protocol ChildSupervision: ChildOwner, HostOwner {
    /// The present lives, in start order.
    var hosts: [any ChildHost] { get }
    /// The lives of the children that are run to their ends.
    var hostsOfRuns: [any ChildHost] { get }
    /// The handles on the children, in start order.
    var handles: [AnyChild] { get }

    // MARK: Messages

    /// Delivers a message to a child, or to a coordinator below it, now or when the child is ready.
    func deliver(_ envelope: Envelope, to key: String, _ rest: ArraySlice<Substring>, isDirect: Bool)

    /// Delivers a message, unless there is no such child, or it doesn't live.
    func deliverIfPresent(_ envelope: Envelope, to key: String, _ rest: ArraySlice<Substring>, isDirect: Bool) -> Bool

    /// Keeps a message for a child that isn't there, if its sender is an adopted worker and the start may be still to come.
    ///
    /// - Returns: False when there is nothing to wait for.
    func keep(_ early: UnclaimedMessage) -> Bool

    /// Ends the messages that wait for any of a pool's members and that no life has got, so that the pool can have them back.
    func withdrawAll()

    func waitUntilNoneIsParked() async

    // MARK: Lives

    func cascade(isPaused: Bool) async

    /// Stops and removes a child that its parent dismisses, or whose pages were popped; a later incarnation isn't affected.
    ///
    /// - Returns: Whether the child is being stopped.
    @discardableResult
    func dismiss(_ key: String, _ incarnation: Incarnation, _ cause: String) -> Bool

    /// Answers the request when the child's present life ends, or at once when there is none.
    func watch(_ key: String, _ envelope: Envelope)

    // MARK: The end

    /// Ends all children, in the order of the policy.
    ///
    /// - Parameter stop: The end of the coordinator itself.
    func shutDown(within stop: CoordinatorCell.Stop) async

    /// Shortens the time of the children's ends.
    func hasten(_ shutdown: Shutdown)

    /// Refuses all starts from now on.
    func refuse()

    // MARK: Operators

    /// The messages that wait for starts of children; `nil` when there are none.
    var waitingPlace: CoordinatorSnapshot.WaitingPlace? { get }

    /// Carries out an operator's request about a child, or a coordinator below it.
    func operate(_ operation: Operation, on key: String, _ rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue

    /// Returns the present snapshots of the children, with their subtrees; all processes below are asked at the same time.
    func snapshots(_ budget: TimeoutBudget) async -> [CoordinatorSnapshot]
}

/// One life of a child, in this process or in another.
///
/// A host is used once. Either `start` throws, and nothing is left of the child, or it returns and the host sends `exited` once, later,
/// when nothing is left.
protocol ChildHost: AnyObject, Sendable {
    /// Starts the child, and returns when it's ready in its own process.
    func start() async throws

    /// Begins to end the child, a pending start included. The call never waits: `start` throws, or the event `exited` reports the end.
    ///
    /// A second call while the child ends can shorten the time that was granted, and never lengthens it.
    func stop(_ shutdown: Shutdown)

    /// Delivers a message to a coordinator at or below the child.
    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool)

    /// Carries out an operator's request about a coordinator below the child, or describes the child itself.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue

    /// Replaces the reasons for which the child is paused, and returns when the child has followed; without a reason the child is resumed.
    func pause(for reasons: PauseReasons) async

    /// Takes over the changed dependencies of the coordinators above.
    func inherit(_ dependencies: Dependencies)

    /// Takes over what a life that goes on can follow of another definition of the child.
    ///
    /// - Throws: The refusal of what should have been followed; the next life begins with it.
    func adoptDefinition(_ definition: ChildDefinition) throws

    /// Has the child's code know that its parent drains, which waits for the child's own end.
    func noteDrain()

    /// Has the drain of the child wait for its `run` hook.
    func awaitRun()

    /// Begins to receive the child's events, because an observer needs them from now on.
    func observeEvents()

    /// Ends the child's process at once, as `kill -9` would.
    func kill() throws

    /// Whether a message for the child isn't handled yet.
    var isBusy: Bool { get }

    /// Whether the life ends, or can't be reached, so that it may have lost what it was given.
    var isLost: Bool { get }

    /// The process of the child's own; `nil` when it has none.
    var process: ProcessIdentity? { get }

    /// The time since which a life is ready that goes on from a former runtime; `nil` of any other, and if that runtime hasn't told it.
    var readyBefore: MonotonicTime? { get }

    /// The time for which the executor of the child's own process has left a ping unanswered; `nil` when it answers, or there is none.
    var executorSilence: Duration? { get }

    /// The messages that wait on the way to the child; `nil` when there are none.
    var waitingPlace: CoordinatorSnapshot.WaitingPlace? { get }

    /// Whether a handler of the child, in this process, runs on past its cancellation.
    var isStuck: Bool { get }

    /// The state and the health of the child, if it's a program that tells; empty for any other.
    var condition: CoordinatorSnapshot.Condition { get }
}

extension ChildHost {
    func adoptDefinition(_ definition: ChildDefinition) throws {}
    var isLost: Bool { false }
    var readyBefore: MonotonicTime? { nil }
    var executorSilence: Duration? { nil }
    var waitingPlace: CoordinatorSnapshot.WaitingPlace? { nil }
    var isStuck: Bool { false }
    var condition: CoordinatorSnapshot.Condition { CoordinatorSnapshot.Condition() }
    // A plain program decides by itself what it does when it's to stop.
    func noteDrain() {}
    func awaitRun() {}
}

/// The values that a child is created with, besides its definition.
struct StartContext: Sendable {
    var pauseReasons: PauseReasons = []
    var dependencies = Dependencies()
    /// Whether the life is a restart; the rate of restarts in a process is limited.
    var isRestart = false
    var areEventsWanted = true
    /// Whether the child is run to its end by a parent that drains.
    var isDraining = false
    /// Whether the child stands for a worker, and gets only the dependencies that a worker would get.
    var isBehindBorder = false

    /// Takes dependencies over, unless newer ones have arrived already.
    mutating func renew(_ dependencies: Dependencies) {
        if dependencies.version >= self.dependencies.version { self.dependencies = dependencies }
    }
}

/// One life of one child.
struct IncarnationID: Sendable {
    let key: String
    let incarnation: Incarnation
}

/// An event in a life, except its start.
enum HostEvent: Sendable {
    /// Nothing is left of the life.
    case exited(ExitReason)
    /// The child finishes with this output, and is to be stopped and removed.
    case finished(Answer)
    /// The child sends an event to its delegates.
    case emitted(Answer)
    /// The child requests its dismissal within the time; the decision is whether it's granted.
    case dismissalRequested(timeout: Duration, decision: OneShot<Bool>)
    /// The child can't be reached: messages to it have to wait, perhaps for its next life.
    case becameUnreachable
    /// The child can be reached again.
    case becameReachable
    /// The child has had nothing to do for its idle time-out.
    case becameIdle
    /// The life's process has reached a limit of its recycling rules, and is to be replaced.
    case recyclingDue
    /// A message was not sent to the child, because the child could not be reached.
    case messageReturned(ParkedMessage)
}

/// The object that has begun a life, and decides what its events lead to.
protocol HostOwner: AnyObject, Sendable {
    func handle(_ event: HostEvent, of life: IncarnationID)
}

extension HostEvent {
    /// Sends the event to the owner of a life; what waits for an answer ends when the owner is gone.
    func send(to owner: (any HostOwner)?, of life: IncarnationID) {
        if let owner { return owner.handle(self, of: life) }
        switch self {
        case .dismissalRequested(_, let decision): decision.settle(false)
        case .messageReturned(let message):
            message.envelope.end(.failure(CoordinatorError(.stopped, "\(life.key) has ended, and so has its parent")))
        case .exited, .finished, .emitted, .becameUnreachable, .becameReachable, .becameIdle, .recyclingDue: break
        }
    }

    /// Asks the owner of a life for the child's dismissal.
    ///
    /// - Returns: Whether it's granted.
    static func requestDismissal(timeout: Duration, _ send: (HostEvent) -> Void) async -> Bool {
        let decision = OneShot<Bool>()
        send(.dismissalRequested(timeout: timeout, decision: decision))
        return await decision.value
    }
}

/// The sender of a life's events to its owner; all code of the life sends its events directly by it.
struct HostEvents: Sendable {
    weak let owner: (any HostOwner)?
    let life: IncarnationID

    func send(_ event: HostEvent) { event.send(to: owner, of: life) }

    func requestDismissal(timeout: Duration) async -> Bool { await HostEvent.requestDismissal(timeout: timeout) { send($0) } }
}

/// A failure of a start for a reason that the supervision machine distinguishes.
struct StartFailure: Error, CustomStringConvertible {
    let reason: ExitReason
    let description: String

    /// The error that the caller of the start gets.
    var told: CoordinatorError { CoordinatorError(.startFailed, description) }
}
