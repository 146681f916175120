/// What is alive in one process: after everything has been stopped, as before it was started.
public struct RuntimeCounters: Sendable, Hashable, Codable {
    /// Coordinators whose life hasn't ended entirely.
    public var coordinators: Int
    /// Links to other processes.
    public var links: Int
    /// Asks that wait for their answer across a link.
    public var openAsks: Int
    /// Delegates, event streams and subscriptions.
    public var observers: Int
    /// Processes that wait to become a child's next life.
    public var spares: Int
}
