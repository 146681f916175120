import Synchronization

/// The numbers of live objects in one process: after everything has been stopped they are what they were before it was started.
public struct RuntimeCounters: Sendable, Hashable, Codable {
    /// Coordinators in memory: one that has ended counts until the last task with a reference to it has ended, a moment later.
    public var coordinators: Int
    /// Links to other processes.
    public var links: Int
    /// Asks that wait for their answer across a link.
    public var openAsks: Int
    /// Delegates, event streams and subscriptions.
    public var observers: Int
    /// Processes that wait to become a child's next incarnation.
    public var spares: Int
}

extension RuntimeCounters {
    /// Decodes the counters; those that a worker of an older build doesn't have are 0.
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

/// The numbers of live objects in a runtime.
final class LiveCounts: Sendable {
    let coordinators = Atomic<Int>(0)
    let links = Atomic<Int>(0)
    let openAsks = Atomic<Int>(0)
    let observers = Atomic<Int>(0)
    let spares = Atomic<Int>(0)

    var counters: RuntimeCounters {
        RuntimeCounters(
            coordinators: coordinators.load(ordering: .relaxed),
            links: links.load(ordering: .relaxed),
            openAsks: openAsks.load(ordering: .relaxed),
            observers: observers.load(ordering: .relaxed),
            spares: spares.load(ordering: .relaxed)
        )
    }
}
