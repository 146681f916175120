import CoordinatorsCluster
import Glibc
import Logging
import Synchronization

/// Measures how long it takes until subtrees run that are placed on two nodes, whose store is etcd.
///
///     Placements ENDPOINT COUNT
///
/// Prints the time in nanoseconds, from their becoming known to the start of the last. `Peers/placed-subtrees` starts etcd for it.
@main
struct Placements {
    /// Counts the subtrees that run, on whichever node.
    private final class Host: SubtreeHost {
        private let running = Mutex<Set<String>>([])
        private let arrivals: AsyncStream<Int>.Continuation

        init(_ arrivals: AsyncStream<Int>.Continuation) { self.arrivals = arrivals }

        func start(_ path: String, epoch: Epoch) async throws {
            arrivals.yield(
                running.withLock { running in
                    running.insert(path)
                    return running.count
                }
            )
        }

        func fence(_ path: String, epoch: Epoch) {}
        func stop(_ path: String, drains: Bool) async {}
    }

    static func main() async throws {
        guard CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[2]), count > 0 else {
            let usage = Array("usage: Placements ENDPOINT COUNT\n".utf8)
            _ = write(STDERR_FILENO, usage, usage.count)
            exit(64)
        }
        try await measure(CommandLine.arguments[1], count)
    }

    @concurrent
    private static func measure(_ endpoint: String, _ count: Int) async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Int.self)
        let host = Host(arrival)
        let nodes = try ["a", "b"].map { name -> ClusterNode in
            let record = NodeRecord(name: NodeName(name)!, address: "127.0.0.1:1")
            let options = ClusterNode.Options(
                record: record,
                logger: Logger(label: "placements") { _ in SwiftLogNoOpLogHandler() }
            )
            let store = try EtcdStore(EtcdOptions(endpoints: [endpoint], cluster: "placements"))
            return ClusterNode(store, host: host, options: options)
        }
        await withDiscardingTaskGroup { group in
            for node in nodes { group.addTask { await node.run() } }
            var started = arrivals.makeAsyncIterator()
            // One subtree first: both have joined then, and one leads.
            await nodes[0].publish(["/first": PlacementConstraints()])
            _ = await started.next()
            let start = ContinuousClock.now
            await nodes[1].publish(Dictionary(uniqueKeysWithValues: (0..<count).map { ("/\($0)", PlacementConstraints()) }))
            while let running = await started.next(), running <= count {}
            print("time", (ContinuousClock.now - start) / .nanoseconds(1))
            group.cancelAll()
        }
    }
}
