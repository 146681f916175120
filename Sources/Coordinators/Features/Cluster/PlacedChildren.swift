package import Links

/// What a daemon tells its runtime of the children of the root that a cluster places, each on one node at a time.
///
/// ``place(of:)`` and ``takes(_:epoch:)`` are called for each message, and return at once.
package protocol PlacedChildren: Sendable {
    /// Returns where a child is, as far as is known here; `nil` if the cluster doesn't place it.
    func place(of key: String) -> ChildPlace?

    /// Returns whether this node takes messages for a child that are meant for an epoch of its ownership.
    func takes(_ key: String, epoch: UInt64) -> Bool

    /// Connects to another node, which has proved its name.
    ///
    /// - Returns: A link on which nothing was received yet.
    func connect(to node: String) async throws -> Link
}

/// The place of a child that a cluster places.
package enum ChildPlace: Hashable, Sendable {
    /// This node takes messages for it.
    case here
    /// Another node owns it.
    case elsewhere(node: String, epoch: UInt64)
    /// No node takes messages for it at present.
    case nowhere
}
