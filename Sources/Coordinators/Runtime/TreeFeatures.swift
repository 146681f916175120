import Supervision
import WireProtocol

/// What a tree can do without, as the life of a coordinator knows it: each of these is called at one moment of that life.
protocol TreeFeatures: Sendable {
    /// The coordinator is there: its `start` hook runs next.
    func isMade(_ receiver: any MessageReceiver)

    /// The coordinator is durable, and is there: its `start` hook runs when this returns.
    func prepare(_ instance: any Coordinator, of receiver: any MessageReceiver) async throws

    /// The coordinator is ready: its `run` hook runs next.
    func isReady(_ receiver: any MessageReceiver)

    /// The coordinator's `run` hook has begun, after a start that wasn't made at once.
    func hasStarted(_ instance: any Coordinator, of receiver: any MessageReceiver)

    /// The coordinator has provided those below it with a value of a type.
    func hasProvided(_ type: any Sendable.Type, at receiver: any MessageReceiver)

    /// The coordinator isn't paused any more.
    func isResumed(_ receiver: any MessageReceiver)

    /// The coordinator begins to drain, or to stop without having failed.
    func beginsToEnd(_ receiver: any MessageReceiver)

    /// The coordinator's code has ended, or was never run.
    func close(_ instance: any Coordinator, of receiver: any MessageReceiver) async

    /// Nothing runs for the coordinator any more.
    func hasEnded(_ receiver: any MessageReceiver)

    /// Returns whether a call waits for the end of the coordinator's durable flow.
    func isFlowAwaited(of receiver: any MessageReceiver) -> Bool

    // MARK: Operators

    /// Returns the numbers of the durable flows of the store that the coordinator provides.
    func flowsSnapshot(of receiver: any MessageReceiver) async -> CoordinatorSnapshot.Flows?

    /// Carries out an operator's request about durable flows, at a coordinator or below it.
    func carryOut(
        _ operation: Operation,
        on rest: ArraySlice<Substring>,
        of receiver: any MessageReceiver,
        _ budget: TimeoutBudget
    ) async throws -> JSONValue

    /// Tries durable flows that a former build has open, which this process is to go on with.
    ///
    /// - Throws: `startFailed`, with those that this build can't go on with.
    func tryFlows(_ records: JSONValue) throws

    // MARK: Children

    /// A life has ended of a child.
    func childHasEnded(_ path: CoordinatorPath, of parent: any MessageReceiver)

    /// A child has had nothing to do for its idle time-out.
    func childIsIdle(_ key: String, _ incarnation: Incarnation, of owner: any ChildOwner)

    /// Returns whether a child that asks to be dismissed asks for the dismissal of the coordinator itself, because the first page of the
    /// coordinator's own stack is the child's.
    func passesDismissalOn(of child: CoordinatorPath, to parent: any MessageReceiver) -> Bool

    // MARK: Messages between runtimes

    /// Handles a message for the coordinator.
    func handle(_ builtin: Builtin, _ envelope: Envelope, at receiver: any MessageReceiver)

    /// Handles a message on its way up, or has it leave the process.
    func handleOnItsWayUp(_ builtin: Builtin, _ envelope: Envelope, at receiver: any MessageReceiver)
}

/// The delivery of messages to children of the root that a cluster places.
protocol PlacedDelivery: AnyObject, Sendable {
    /// Takes a message for a child of the root, if the child is on another node, or isn't known to be on this one.
    ///
    /// - Returns: False when the message is to be delivered here.
    func deliverElsewhere(_ message: ParkedMessage, for key: String) -> Bool

    /// Returns whether a message that has waited may still go to the child at a path, or below it; another one is sent elsewhere, or refused.
    func diverts(_ message: ParkedMessage, at path: CoordinatorPath) -> Bool

    /// Returns whether a message that has waited for room on the way to a worker may still go there.
    func stillTakes(_ message: Peer.Outgoing) -> Bool

    /// Sends a message elsewhere, or refuses it, that has waited for room on the way to a worker.
    func divert(_ message: Peer.Outgoing)

    /// The messages that wait for the nodes of children.
    var waitingPlaces: [CoordinatorSnapshot.WaitingPlace] { get }

    /// Ends all links, and the messages that wait.
    func end() async
}
