/// A message or event that was dropped, and why.
public struct DeadLetter: Sendable, Hashable, Codable {
    /// Why it was dropped.
    public enum Reason: Sendable, Hashable, Codable {
        /// The handler of a one-way message threw.
        case handlerFailed(String)
        /// The mailbox was full, and that was its policy.
        case mailboxFull(MailboxPolicy.Overflow)
        /// An observer was too slow, and this was the oldest that waited for it.
        case observerTooSlow
        /// The coordinator stopped before the message that it had taken was handled.
        case stopped
        /// It couldn't be delivered; the text says why.
        case undeliverable(String)
    }

    /// The message's name.
    public let name: String
    /// Who sent it.
    public let sender: CoordinatorPath
    /// Whom it would have reached.
    public let target: CoordinatorPath
    /// Why it was dropped.
    public let reason: Reason

    init(name: String, sender: CoordinatorPath, target: CoordinatorPath, reason: Reason) {
        self.name = name
        self.sender = sender
        self.target = target
        self.reason = reason
    }
}

extension DeadLetter.Reason: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .handlerFailed(let error): "the handler failed: \(error)"
        case .mailboxFull(let overflow): "the mailbox was full (\(overflow.rawValue))"
        case .observerTooSlow: "the observer was too slow"
        case .stopped: "the coordinator stopped before it was handled"
        case .undeliverable(let why): "undeliverable: \(why)"
        }
    }
}

/// What was dropped in a whole tree.
public struct DeadLetterReport: Sendable, Hashable, Codable {
    /// How many since the tree was started.
    public internal(set) var count: UInt64
    /// The latest of them, oldest first: at most 256.
    public internal(set) var letters: [DeadLetter]
}
