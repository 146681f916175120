/// A handle on a started child whose type doesn't matter.
///
/// The handle follows the path, not the incarnation.
public struct AnyChild: Sendable {
    let owner: any ChildOwner
    let key: String

    /// The name of the child's type, or the program's.
    public let typeName: String

    /// The child's place in the tree.
    public var path: CoordinatorPath { owner.path.appending(key) }

    /// Returns the child's key as a key of the parent's type; `nil` if it isn't one.
    public func key<Key: CoordinatorKey>(as type: Key.Type = Key.self) -> Key? { Key(key) }

    /// The state of the child; `inactive` when it's gone.
    public var state: CoordinatorState { owner.snapshotState(of: key) }

    /// The number of the child's current incarnation, counted from 1; 0 when the child is gone.
    public var incarnation: UInt32 { owner.incarnation(of: key) }

    /// Ends the child and its subtree, and frees its key; returns when nothing is left of it.
    ///
    /// Removing a child that is gone does nothing.
    public func remove() async {
        try? await owner.stop(key, initiator: .parent, forgets: true, registration: nil)
    }

    /// Pauses the child and those below it; see `Child.pause`.
    public func pause() async {
        try? await owner.setPaused(true, for: key, initiator: .parent)
    }

    /// Resumes the child, unless an ancestor is paused.
    public func resume() async {
        try? await owner.setPaused(false, for: key, initiator: .parent)
    }

    /// Ends the child and its subtree, whatever its state, and starts it again with its configuration.
    ///
    /// - Throws: `noSuchChild`; the error that its `start` threw.
    public func restart() async throws {
        try await owner.restart(key)
    }
}

/// The child to which a row hands messages on.
enum ForwardTarget: Sendable {
    /// The child with a key.
    case key(String)
    /// The first child whose type has a name.
    case type(name: String)
    /// The child with the key that a function finds in the message.
    case computed(@Sendable (Envelope) throws -> String)
}

/// A message of an adopted worker for a child that isn't there, and whose start may be still to come.
struct UnclaimedMessage: Parked {
    let message: ParkedMessage
    let target: ForwardTarget
    /// Whether a row has handed the message on: when no start comes, the coordinator's `open(section:)` hook may start the child.
    let isForwarded: Bool

    var envelope: Envelope { message.envelope }
}

/// The number of a key's registration among those of all keys, so that a late clean-up can't affect a later registration of the same key.
///
/// It takes 32 bits, because every child has one: it comes again after four thousand million others.
typealias RegistrationNumber = UInt32

/// The supervisor of children, as the handles on these know it.
protocol ChildOwner: AnyObject, Sendable {
    /// The path of the parent.
    var path: CoordinatorPath { get }

    func snapshotState(of key: String) -> CoordinatorState
    func incarnation(of key: String) -> UInt32
    func stop(_ key: String, initiator: Initiator, forgets: Bool, registration: RegistrationNumber?) async throws
    func restart(_ key: String) async throws
    func setPaused(_ isPaused: Bool, for key: String, initiator: Initiator) async throws
}

/// The side that has asked for a change of a child.
enum Initiator {
    /// The coordinator itself: its call returns the outcome, and there is no event.
    case parent
    /// An operator, or another coordinator by way of the runtime: the parent's rows get the change as an event.
    case `operator`
}
