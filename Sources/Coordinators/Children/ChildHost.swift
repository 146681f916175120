import Processes
import WireProtocol

/// One life of a child, wherever it is lived.
///
/// A host is used once. Either `start` throws, and nothing is left of the child, or it returns and `onExit` is called once, later,
/// when nothing is left.
protocol ChildHost: AnyObject, Sendable {
    /// Returns when the child is ready in its own process.
    func start() async throws

    /// Begins to end the child, a pending start included. Never waits: the end is told by `start` throwing or by `onExit`.
    ///
    /// Called again while the child ends, it shortens what was granted, and never lengthens it.
    func stop(_ shutdown: Shutdown)

    /// Delivers a message to a coordinator at or below the child.
    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool)

    /// Carries out an operator's request about a coordinator below the child, or describes the child itself.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue

    /// Pauses the child for these reasons, instead of those it had; none: it's resumed. Returns when it has followed.
    func pause(for reasons: PauseReasons) async

    /// Those above have provided something new.
    func inherit(_ dependencies: Dependencies)

    /// From now on somebody hears what the child tells its delegates.
    func observeEvents()

    /// Ends the process at once, as `kill -9` would.
    func kill() throws

    /// Whether the child, or one below it, has a message that isn't handled yet.
    var isBusy: Bool { get }

    /// The process of its own that the child has, if any.
    var process: ProcessIdentity? { get }
}

/// What a child is born with, beside its definition.
struct ChildInheritance: Sendable {
    var pauseReasons: PauseReasons = []
    var dependencies = Dependencies()
    /// Whether it's a restart, of which a process may not have too many at a time.
    var isRestart = false
    var spares: SparePool?
    var areEventsWanted = true
}

/// Who hears of the lives that it has begun.
protocol HostOwner: AnyObject, Sendable {
    /// Nothing is left of the life.
    func lifeExited(_ life: ChildInstance, _ reason: ExitReason)
    /// It finishes, with this output; it's to be stopped and removed.
    func lifeFinished(_ life: ChildInstance, _ output: Answer)
    /// It tells its delegates something.
    func lifeEmitted(_ life: ChildInstance, _ event: Answer)
    /// It would like to be dismissed within the time; whether that is granted.
    func dismissalRequested(by life: ChildInstance, timeout: Duration) async -> Bool
    /// Whether it can be reached: while it can't, what is sent to it has to wait, perhaps for its next life.
    func life(_ life: ChildInstance, becameReachable isReachable: Bool)
    /// Its process has done its time, and is to be replaced.
    func recycleRequested(_ life: ChildInstance)
    /// A message has not left for it, which could not be reached.
    func messageReturned(_ message: ChildSlot.Parked, from life: ChildInstance)
}

/// One life of one child.
struct ChildInstance: Sendable {
    let key: String
    let incarnation: Incarnation
}

/// What a host tells its owner, beside its start.
struct HostEvents: Sendable {
    weak let owner: (any HostOwner)?
    let life: ChildInstance

    func exited(_ reason: ExitReason) { owner?.lifeExited(life, reason) }
    func finished(_ output: Answer) { owner?.lifeFinished(life, output) }
    func emitted(_ event: Answer) { owner?.lifeEmitted(life, event) }
    func dismissalRequested(_ timeout: Duration) async -> Bool { await owner?.dismissalRequested(by: life, timeout: timeout) ?? false }
    func unreachable() { owner?.life(life, becameReachable: false) }
    func reachable() { owner?.life(life, becameReachable: true) }
    func recycled() { owner?.recycleRequested(life) }
    func undelivered(_ message: ChildSlot.Parked) { owner?.messageReturned(message, from: life) }
}

/// Whoever owns the coordinator that a whole process begins with is in it: it can always be reached, and is replaced from outside.
extension HostOwner {
    func life(_ life: ChildInstance, becameReachable isReachable: Bool) {}
    func recycleRequested(_ life: ChildInstance) {}
    func messageReturned(_ message: ChildSlot.Parked, from life: ChildInstance) {}
}
