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
    func stop(_ shutdown: Shutdown)

    /// Delivers a message to a coordinator at or below the child.
    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool)

    /// Carries out an operator's request about a coordinator below the child, or describes the child itself.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>) async throws -> JSONValue

    /// Pauses the child for these reasons, instead of those it had; none: it's resumed. Returns when it has followed.
    func pause(for reasons: PauseReasons) async

    /// Those above have provided something new.
    func inherit(_ dependencies: Dependencies)

    /// From now on somebody hears what the child tells its delegates.
    func observeEvents()

    /// Ends the process at once, as `kill -9` would.
    func kill() throws

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

/// What a host tells its parent, beside its exit.
struct HostEvents: Sendable {
    /// Nothing is left of the child.
    let exited: @Sendable (ExitReason) -> Void
    /// The child finishes, with this output; it's to be stopped and removed.
    let finished: @Sendable (Answer) -> Void
    /// The child tells its delegates something.
    let emitted: @Sendable (Answer) -> Void
    /// The child would like to be dismissed within the time; whether that is granted.
    let dismissalRequested: @Sendable (Duration) async -> Bool
    /// The child can't be reached for now: what is sent to it has to wait for `reachable`, or for its next life.
    let unreachable: @Sendable () -> Void
    /// The child can be reached again.
    let reachable: @Sendable () -> Void
    /// The child's process has done its time, and is to be replaced.
    let recycled: @Sendable () -> Void
    /// A message has not left for the child, which could not be reached.
    let undelivered: @Sendable (ChildSlot.Parked) -> Void
}

/// What an operator can ask of a coordinator, from any process.
enum Operation: String, Sendable {
    case inspect, start, stop, restart, kill, pause, resume, counters
}
