/// The differences between the configuration of a running daemon and a file, and what became of them.
public struct ConfigurationChanges: Codable, Hashable, Sendable {
    /// A place in a file.
    public struct Place: Codable, Hashable, Sendable {
        /// The file that says it, as it was named: the one that was compared, or one that it includes.
        public var file: String
        /// The line, from 1.
        public var line: Int
        /// The column, from 1, in Unicode scalars.
        public var column: Int

        /// Creates a place.
        public init(file: String, line: Int, column: Int) { (self.file, self.line, self.column) = (file, line, column) }
    }

    /// A key that has another value.
    public struct Value: Codable, Hashable, Sendable {
        /// The key, after those of the mappings around it, with a period between two.
        public var key: String
        /// The former value, in which secrets are hidden; nil: there was none.
        public var from: String?
        /// The value that follows; nil: there is none.
        public var to: String?
        /// The place of the key, or of the mapping that had it; nil: the change isn't one of a file.
        public var place: Place?

        /// Creates a key's values.
        public init(key: String, from: String?, to: String?, place: Place? = nil) {
            (self.key, self.from, self.to, self.place) = (key, from, to, place)
        }
    }

    /// One difference.
    public struct Change: Codable, Hashable, Sendable {
        /// The path of the child; `/` for the file's own settings.
        public var path: String
        /// `added`, `removed` or `changed`.
        public var kind: String
        /// The keys that differ, as they are written in the file, with a period between a key and one inside it.
        public var keys: [String]
        /// The values of the keys that differ, and of those inside them; nil: there are none, or the daemon doesn't tell them.
        public var values: [Value]?
        /// What follows: `start`, `stop`, `restart`, `take_over` (the child's process goes on), `none` (a child that is added and has
        /// `autostart: false`), `placed` (the cluster starts the added child on a node that it chooses), `scheduled` (the added child starts at
        /// its times), or `next_daemon` (the next daemon begins with the change, also that of an upgrade).
        public var effect: String
        /// The path of the child that this one requires, and because of which it is restarted.
        public var cause: String?
        /// The reason why the change failed.
        public var error: String?
        /// What the change still waits for: it goes on.
        public var pending: String?
        /// The place of the child in the file that follows; nil: it isn't there any more, or the change isn't one of a file.
        public var place: Place?

        /// Creates a difference.
        public init(
            path: String,
            kind: String,
            keys: [String] = [],
            values: [Value]? = nil,
            effect: String,
            cause: String? = nil,
            error: String? = nil,
            pending: String? = nil,
            place: Place? = nil
        ) {
            self.path = path
            self.kind = kind
            self.keys = keys
            self.values = values
            self.effect = effect
            self.cause = cause
            self.error = error
            self.pending = pending
            self.place = place
        }
    }

    /// The differences without values, for those who may not be able to read the file.
    package var withoutValues: ConfigurationChanges {
        var told = self
        for index in told.changes.indices { told.changes[index].values = nil }
        return told
    }

    /// The file, as it was named.
    public var file: String
    /// Whether the differences were applied, and not only found.
    public var isApplied: Bool
    /// The differences, those of a supervisor before those of its children.
    public var changes: [Change]
    /// The paths of the supervisors whose children have another start order.
    public var reordered: [String]
    /// The number of children that stay as they are.
    public var unchanged: Int

    /// Creates the differences.
    public init(file: String, isApplied: Bool, changes: [Change], reordered: [String] = [], unchanged: Int) {
        self.file = file
        self.isApplied = isApplied
        self.changes = changes
        self.reordered = reordered
        self.unchanged = unchanged
    }

    private enum CodingKeys: String, CodingKey {
        case file, changes, reordered, unchanged
        case isApplied = "applied"
    }

    /// The number of changes that failed.
    public var failureCount: Int { changes.count { $0.error != nil } }

    /// The number of changes that go on.
    public var pendingCount: Int { changes.count { $0.pending != nil } }
}
