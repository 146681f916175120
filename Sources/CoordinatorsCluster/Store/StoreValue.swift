/// The value of an entry, which is input: whoever may write to the store can have written it.
///
/// A value that isn't one, or is out of ``StoreBounds``, isn't read. The node names its entry in the log, in a metric and in its list of nodes,
/// and goes on: ``ClusterView/unreadable`` says how.
public protocol StoreValue: Hashable, Sendable {
    /// Reads a value; `nil` when the bytes aren't one, or a number is out of bounds.
    ///
    /// - Parameter json: The bytes of an entry's value.
    init?(json: [UInt8])
    /// The value as JSON, as the store keeps it.
    var json: [UInt8] { get }
}

/// The bounds of numbers in the store's values, which are those of a configuration file.
public enum StoreBounds {
    /// The weights of subtrees, and the capacities of nodes, of which 0 is any.
    public static let weights = 0...1_000_000
    /// The numbers of nodes from which a subtree is moved on.
    public static let moves = 0...1_000
}
