/// The messages and events that were dropped in the tree.
public struct DeadLetterList: Codable, Hashable, Sendable {
    /// One that was dropped.
    public struct Letter: Codable, Hashable, Sendable {
        /// The message's name.
        public var name: String
        /// The path of its sender.
        public var sender: String
        /// The path that it would have reached.
        public var target: String
        /// Why it was dropped, in words.
        public var reason: String

        /// Creates a letter.
        public init(name: String, sender: String, target: String, reason: String) {
            self.name = name
            self.sender = sender
            self.target = target
            self.reason = reason
        }
    }

    /// How many since the daemon was started.
    public var count: UInt64
    /// The latest of them, oldest first.
    public var letters: [Letter]

    /// Creates a list.
    public init(count: UInt64, letters: [Letter]) {
        self.count = count
        self.letters = letters
    }
}
