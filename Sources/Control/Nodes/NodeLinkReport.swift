/// An event of the connections between nodes, for the log.
public enum NodeLinkReport: Hashable, Sendable {
    /// A connection was refused. The other end, which was told nothing, claims to be a node of this name, if it has come to that.
    case refused(node: String?, reason: String)
    /// A node has proved its name and makes requests.
    case accepted(node: String)
    /// This node makes requests of another one.
    case connected(node: String)
    /// The connection to a node couldn't be made.
    case failed(node: String, reason: String)
    /// The connection to a node has ended.
    case disconnected(node: String, reason: String)
}
