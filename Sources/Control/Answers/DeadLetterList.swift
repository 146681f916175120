/// The messages and events that were dropped in the tree.
public struct DeadLetterList: Codable, Hashable, Sendable {
    /// One message or event that was dropped.
    public struct Letter: Codable, Hashable, Sendable {
        /// The message's name.
        public var name: String
        /// The path of its sender.
        public var sender: String
        /// The path that the message or event would have reached.
        public var target: String
        /// The reason for dropping it, for people.
        public var reason: String

        /// Creates a letter.
        public init(name: String, sender: String, target: String, reason: String) {
            self.name = name
            self.sender = sender
            self.target = target
            self.reason = reason
        }
    }

    /// The number of dropped messages and events since the daemon started.
    public var count: UInt64
    /// The latest of them, oldest first.
    public var letters: [Letter]

    /// Creates a list.
    public init(count: UInt64, letters: [Letter]) {
        self.count = count
        self.letters = letters
    }
}
