/// The fencing token of an ownership: it grows with each owner of the same path, across all nodes.
///
/// A receiver remembers the highest epoch that it has seen of a path, and refuses what carries a lower one: an owner that was stopped, or cut
/// off, can't write over its successor's work. With etcd it's the `create_revision` of the owner's key, as Martin Kleppmann asks of a lock in
/// "How to do distributed locking".
public struct Epoch: Hashable, Comparable, Sendable, RawRepresentable {
    /// The number; greater than zero.
    public let rawValue: UInt64

    /// Creates an epoch of a number.
    ///
    /// - Parameter rawValue: The number, greater than zero.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The lowest epoch that can come after this one; the highest number itself, which is no store's epoch.
    var next: Epoch { Epoch(rawValue: rawValue == .max ? .max : rawValue + 1) }

    /// Compares the numbers.
    public static func < (left: Epoch, right: Epoch) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension Epoch: CustomStringConvertible {
    /// The number in decimal digits.
    public var description: String { String(rawValue) }
}
