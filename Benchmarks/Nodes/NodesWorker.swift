import Coordinators
import Glibc

/// The workers of Benchmarks/nodes: one coordinator that asks, on every node, and one that answers, on one node at a time.
@main struct NodesWorker {
    static func main() async {
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [Asker.self, Answerer.self])
        fatalError("this program is a worker of Benchmarks/nodes")
    }
}

enum RoundTrip {
    /// 64 bytes there and back.
    struct Echo: ResponderMessage {
        typealias Reply = [UInt8]
        static let name = "RoundTrip.Echo"
        var bytes: [UInt8]
    }

    /// Has the asker ask so many times, and returns the median time of an ask in nanoseconds.
    struct Measure: ResponderMessage {
        typealias Reply = Int64
        static let name = "Asker.Measure"
        var count: Int
    }
}

actor Asker: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: RoundTrip.Measure.self) { me, measure in try await me.median(of: measure.count) }]

    private func median(of count: Int) async throws -> Int64 {
        let echo = RoundTrip.Echo(bytes: [UInt8](repeating: 120, count: 64))
        var durations: [Int64] = []
        durations.reserveCapacity(count)
        for _ in 0..<count {
            let start = Self.now
            _ = try await context.ask(echo)
            durations.append(Self.now - start)
        }
        durations.sort()
        return durations[count / 2]
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

actor Answerer: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.inline(RoundTrip.Echo.self) { _, echo in echo.bytes }]
}
