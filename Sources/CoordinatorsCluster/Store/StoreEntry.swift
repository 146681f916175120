/// A number that grows with each change of the store.
public struct StoreRevision: Hashable, Comparable, Sendable, RawRepresentable {
    /// The number.
    public let rawValue: UInt64

    /// Creates a revision of a number.
    ///
    /// - Parameter rawValue: The number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Compares the numbers.
    public static func < (left: StoreRevision, right: StoreRevision) -> Bool { left.rawValue < right.rawValue }
}

extension StoreRevision: CustomStringConvertible {
    /// The number in decimal digits.
    public var description: String { String(rawValue) }
}

/// A key with its value.
public struct StoreEntry: Hashable, Sendable {
    /// The key.
    public let key: StoreKey
    /// The value.
    public let value: [UInt8]
    /// The revision at which the key was made; of an owner's key that is the epoch.
    public let created: StoreRevision
    /// The revision of the last change.
    public let modified: StoreRevision
    /// The lease with which the entry goes; `nil`: it stays until it's removed.
    public let lease: LeaseIdentifier?

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - value: The value.
    ///   - created: The revision at which the key was made.
    ///   - modified: The revision of the last change.
    ///   - lease: The lease with which the entry goes.
    public init(key: StoreKey, value: [UInt8], created: StoreRevision, modified: StoreRevision, lease: LeaseIdentifier?) {
        (self.key, self.value, self.created, self.modified, self.lease) = (key, value, created, modified, lease)
    }
}

/// Entries as they were at one revision.
public struct StoreListing: Hashable, Sendable {
    /// The revision; a watch that begins after it misses nothing.
    public let revision: StoreRevision
    /// The entries without those of other programs' keys, sorted by the texts of their keys.
    public let entries: [StoreEntry]

    /// Creates a listing.
    ///
    /// - Parameters:
    ///   - revision: The revision.
    ///   - entries: The entries.
    public init(revision: StoreRevision, entries: [StoreEntry]) {
        (self.revision, self.entries) = (revision, entries)
    }
}

/// A key that was written or removed.
public struct StoreChange: Hashable, Sendable {
    /// The key.
    public let key: StoreKey
    /// The revision of the change.
    public let revision: StoreRevision
    /// The entry as it is from then on; `nil`: it was removed.
    public let entry: StoreEntry?

    /// Creates a change.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - revision: The revision of the change.
    ///   - entry: The entry as it is from then on; `nil`: it was removed.
    public init(key: StoreKey, revision: StoreRevision, entry: StoreEntry?) {
        (self.key, self.revision, self.entry) = (key, revision, entry)
    }
}
