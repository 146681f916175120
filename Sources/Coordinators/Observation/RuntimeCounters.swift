/// What is alive in one process: after everything has been stopped, as before it was started.
public struct RuntimeCounters: Sendable, Hashable, Codable {
    /// Coordinators that take up memory: one that has ended counts until the last task that knows it has let go, a moment later.
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

extension RuntimeCounters {
    /// A worker of an older build doesn't know all of them.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func count(_ key: CodingKeys) throws -> Int { try container.decodeIfPresent(Int.self, forKey: key) ?? 0 }
        self.init(
            coordinators: try count(.coordinators),
            links: try count(.links),
            openAsks: try count(.openAsks),
            observers: try count(.observers),
            spares: try count(.spares)
        )
    }
}
