/// A message or event that was dropped, and the reason.
public struct DeadLetter: Sendable, Hashable, Codable {
    /// The reason why the message or event was dropped.
    public enum Reason: Sendable, Hashable, Codable {
        /// The handler of a one-way message threw.
        case handlerFailed(String)
        /// The mailbox was full, and its policy dropped the message.
        case mailboxFull(MailboxPolicy.Overflow)
        /// An observer was too slow, and this was the oldest event that waited for it.
        case observerTooSlow
        /// The coordinator stopped before the message that it had taken was handled.
        case stopped
        /// The message couldn't be delivered; the text says why.
        case undeliverable(String)
    }

    /// The name of the message or event.
    public let name: String
    /// The coordinator that sent it.
    public let sender: CoordinatorPath
    /// The coordinator that it was sent to.
    public let target: CoordinatorPath
    /// The reason why the message or event was dropped.
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

/// The messages and events that were dropped in a whole tree.
public struct DeadLetterReport: Sendable, Hashable, Codable {
    /// The number of drops since the tree was started.
    public internal(set) var count: UInt64
    /// The latest dropped messages and events, oldest first: at most 256.
    public internal(set) var letters: [DeadLetter]
}
