/// The sender's side of ownership: the owner to which messages for a path go, and the look-up of another one when a node says `notHere`.
///
/// A node that isn't the owner answers `notHere` with the highest epoch that it knows, and has done nothing with the message. So the sender
/// may send it again, and to another node, without doubling it. What was sent and isn't answered may be done, and isn't sent again.
///
/// The route takes what has happened and returns the next step for a message; it keeps no messages, and reads no clock.
///
/// - Guarantees: the epochs of the route never fall. A message isn't sent again under the epoch that was refused. One look-up is under way at
///   a time, whatever the number of messages.
public struct OwnerRoute: Sendable {
    /// A node that owns the path, and its epoch.
    public struct Owner: Hashable, Sendable {
        /// The owner's node.
        public let node: NodeName
        /// The epoch that the message carries, so that the receiver knows whether it's meant.
        public let epoch: Epoch

        /// Creates an owner.
        ///
        /// - Parameters:
        ///   - node: The owner's node.
        ///   - epoch: The owner's epoch.
        public init(node: NodeName, epoch: Epoch) {
            (self.node, self.epoch) = (node, epoch)
        }
    }

    /// The next step of a message.
    public enum Step: Hashable, Sendable {
        /// Send it to this owner.
        case send(Owner)
        /// Keep it, and look the owner up; then ask for the step again.
        case lookUp
        /// Keep it: the look-up is under way. When it ends, ask for the step again.
        case wait
    }

    /// The progress of the search.
    private enum State: Hashable, Sendable {
        /// No owner is known, or none that is to be trusted. Can transition to: searching, known.
        case unknown
        /// A look-up is under way. Can transition to: known, unknown.
        case searching
        /// The owner is known. Can transition to: unknown, when a node says that it isn't.
        case known(Owner)
    }

    private var state = State.unknown
    /// The lowest epoch that an owner can have.
    private var lowest = Epoch(rawValue: 1)

    /// Creates the route to a path of which nothing is known.
    public init() {}

    /// The owner, if one is known.
    public var owner: Owner? {
        guard case .known(let owner) = state else { return nil }
        return owner
    }

    /// Returns the step of a message that has to be sent.
    public mutating func nextStep() -> Step {
        switch state {
        case .known(let owner): return .send(owner)
        case .searching: return .wait
        case .unknown:
            state = .searching
            return .lookUp
        }
    }

    /// Takes note of an owner that was looked up, or that a watch has told.
    ///
    /// - Parameter found: The owner; `nil`: the path has none now. An owner with a lower epoch than is known counts as none: the answer is older
    ///   than what was learnt since, and the sender looks up again after a pause.
    /// - Returns: Whether the route has an owner now. If not, the shell asks for the step again after a pause, within each message's deadline.
    public mutating func lookUpEnded(_ found: Owner?) -> Bool {
        if let found, found.epoch >= lowest {
            lowest = found.epoch
            state = .known(found)
            return true
        }
        if case .known = state { return true }
        state = .unknown
        return false
    }

    /// Takes note that a node has refused a message because it isn't the owner.
    ///
    /// - Parameters:
    ///   - sent: The epoch that the message carried.
    ///   - known: The highest epoch that the node knows of the path, if any.
    /// - Returns: The step of that message, which wasn't handled.
    public mutating func notHere(sent: Epoch, known: Epoch?) -> Step {
        // The owner with the refused epoch isn't the owner any more, so the next one has a higher one.
        lowest = max(lowest, known ?? lowest, sent.next)
        if case .known(let owner) = state, owner.epoch < lowest { state = .unknown }
        return nextStep()
    }
}
