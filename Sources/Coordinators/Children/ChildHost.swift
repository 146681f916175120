import ConcurrencySupport
import Processes
import WireProtocol

/// One life of a child, wherever it is lived.
///
/// A host is used once. Either `start` throws, and nothing is left of the child, or it returns and `exited` is told once, later,
/// when nothing is left.
protocol ChildHost: AnyObject, Sendable {
    /// Returns when the child is ready in its own process.
    func start() async throws

    /// Begins to end the child, a pending start included. Never waits: `start` throwing or the event `exited` tells the end.
    ///
    /// Called again while the child ends, it shortens what was granted, and never lengthens it.
    func stop(_ shutdown: Shutdown)

    /// Delivers a message to a coordinator at or below the child.
    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool)

    /// Carries out an operator's request about a coordinator below the child, or describes the child itself.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue

    /// Pauses the child for these reasons, instead of those it had; none: it's resumed. Returns when it has followed.
    func pause(for reasons: PauseReasons) async

    /// Takes over the changed dependencies of those above.
    func inherit(_ dependencies: Dependencies)

    /// Begins to receive the child's events, which an observer needs from now on.
    func observeEvents()

    /// Ends the process at once, as `kill -9` would.
    func kill() throws

    /// Whether the child, or one below it, has a message that isn't handled yet.
    var isBusy: Bool { get }

    /// Returns when the child and those below it have handled every message that they have been sent.
    func waitUntilHandled() async

    /// The process of its own that the child has, if any.
    var process: ProcessIdentity? { get }
}

/// The values that a child is created with, besides its definition.
struct ChildInheritance: Sendable {
    var pauseReasons: PauseReasons = []
    var dependencies = Dependencies()
    /// Whether it's a restart, of which a process may not have too many at a time.
    var isRestart = false
    var spares: SparePool?
    var areEventsWanted = true

    /// Takes dependencies, unless newer ones have come already.
    mutating func renew(_ dependencies: Dependencies) {
        if dependencies.version >= self.dependencies.version { self.dependencies = dependencies }
    }
}

/// One life of one child.
struct ChildInstance: Sendable {
    let key: String
    let incarnation: Incarnation
}

/// What happens in a life, beside its start.
enum HostEvent: Sendable {
    /// Nothing is left of the life.
    case exited(ExitReason)
    /// The child finishes, with this output; it's to be stopped and removed.
    case finished(Answer)
    /// The child tells its delegates something.
    case emitted(Answer)
    /// The child would like to be dismissed within the time; the decision is whether that is granted.
    case dismissalRequested(timeout: Duration, decision: OneShot<Bool>)
    /// The child can't be reached: what is sent to it has to wait, perhaps for its next life.
    case becameUnreachable
    /// The child can be reached again.
    case becameReachable
    /// Its process has done its time, and is to be replaced.
    case recyclingDue
    /// A message has not left for the child, which could not be reached.
    case messageReturned(ChildSlot.Parking.Message)
}

/// The one that has begun a life, and decides what its events lead to.
protocol HostOwner: AnyObject, Sendable {
    func handle(_ event: HostEvent, of life: ChildInstance)
}

/// The way of a life's events to its owner; everything below hands its events to this, with nothing in between.
struct HostEvents: Sendable {
    weak let owner: (any HostOwner)?
    let life: ChildInstance

    func send(_ event: HostEvent) {
        if let owner { return owner.handle(event, of: life) }
        if case .dismissalRequested(_, let decision) = event { decision.settle(false) }
    }

    /// Asks for the child's dismissal.
    ///
    /// - Returns: whether it's granted.
    func requestDismissal(timeout: Duration) async -> Bool {
        let decision = OneShot<Bool>()
        send(.dismissalRequested(timeout: timeout, decision: decision))
        return await decision.value
    }
}

/// A start that failed for a reason that the supervision machine tells apart.
struct StartFailure: Error, CustomStringConvertible {
    let reason: ExitReason
    let description: String

    /// The error that the caller of the start gets.
    var told: CoordinatorError { CoordinatorError(.startFailed, description) }
}
