import Control
import Processes
import Testing

@testable import CoordinatorConsole

@Suite("The figures of the last hour")
struct SamplerTests {
    private static let bounds = [0.001, 0.01, 0.1]

    private static let tree: TreeNode = {
        func node(_ path: String, _ children: [TreeNode] = []) -> TreeNode {
            TreeNode(
                key: path,
                path: path,
                type: "T",
                kind: .coordinator,
                state: "active",
                incarnation: 1,
                placement: .worker,
                children: children
            )
        }
        return node("/", [node("/a"), node("/b")])
    }()

    private static func metrics(_ counts: (path: String, buckets: [UInt64])..., isCounting: Bool = true) -> TreeMetrics {
        let asks = counts.map { path, buckets in
            TreeMetrics.Asks(path: path, message: "M", hasFailed: false, count: buckets.reduce(0, +), sumSeconds: 0, buckets: buckets)
        }
        return TreeMetrics(isCounting: isCounting, boundsSeconds: bounds, asks: asks)
    }

    /// Returns the percentiles of a path, or of the whole tree, after points with these counts.
    private static func latest(_ path: String?, after points: [TreeMetrics?]) throws -> (median: [Float?], p99: [Float?]) {
        var sampler = Sampler()
        for point in points {
            _ = sampler.rows(of: tree, former: [:])
            sampler.addPoints(point)
        }
        let report = try #require(sampler.report(of: path))
        return (report.median, report.p99)
    }

    @Test("A point has the percentiles of the asks since the point before, of each path and of all")
    func percentiles() throws {
        let points = [Self.metrics(("/a", [1000, 0, 0, 0])), Self.metrics(("/a", [1000, 100, 0, 0]), ("/b", [0, 0, 100, 0]))]
        let a = try Self.latest("/a", after: points)
        // The thousand fast ones are from before; the hundred new ones are spread over their bucket.
        #expect(a.median == [nil, 0.0055] && a.p99[1].map { abs($0 - 0.00991) < 1e-6 } == true)
        // A path that appears has counted from nothing.
        let b = try Self.latest("/b", after: points)
        #expect(b.median == [nil, 0.055] && b.p99[1].map { abs($0 - 0.0991) < 1e-6 } == true)
        let all = try Self.latest(nil, after: points)
        #expect(all.median == [nil, 0.01] && all.p99[1].map { abs($0 - 0.0982) < 1e-6 } == true)
    }

    @Test("Asks of several messages of a path, and failed ones, are one distribution")
    func merged() throws {
        var second = Self.metrics(("/a", [10, 0, 0, 0]), ("/a", [0, 0, 10, 0]))
        second.asks[1].hasFailed = true
        #expect(try Self.latest("/a", after: [Self.metrics(), second]).median == [nil, 0.001])
        #expect(try #require(try Self.latest("/a", after: [Self.metrics(), second]).p99[1]) > 0.09)
    }

    @Test("Nothing is known without asks, without an answer and without counting; then figures begin anew")
    func unknown() throws {
        let (few, more) = (Self.metrics(("/a", [5, 0, 0, 0])), Self.metrics(("/a", [5, 0, 5, 0])))
        #expect(try Self.latest("/a", after: [few, few]).median == [nil, nil])
        #expect(try Self.latest("/a", after: [few, nil, more]).median == [nil, nil, 0.055])
        #expect(try Self.latest(nil, after: [few, Self.metrics(isCounting: false), more, more]).p99 == [nil, nil, nil, nil])
    }

    @Test("A point has the processor time since the point before and the memory; another process with the same number counts from nothing")
    func usage() throws {
        func figure(ticks: UInt64, start: UInt64) -> ProcessFigures.Figure {
            .init(pid: 7, usage: ProcessUsage(ticks: ticks, residentBytes: 1 << 20, startTime: start), count: 1)
        }
        var tree = Self.tree
        tree.children[0].pid = 7
        var sampler = Sampler()
        for (ticks, start) in [(5, 1), (5, 1), (1_000_000, 1), (2_000_000, 2)] as [(UInt64, UInt64)] {
            _ = sampler.rows(of: tree, former: [:])
            sampler.addPoints(nil, figures: ["/a": figure(ticks: ticks, start: start)])
        }
        let one = try #require(sampler.report(of: "/a"))
        let all = try #require(sampler.report(of: nil))
        let other = try #require(sampler.report(of: "/b"))
        #expect(one.memory == Array(repeating: Float(1 << 20), count: 4) && one.percent[1] == 0 && one.percent[2] ?? 0 > 0)
        #expect(one.percent[0] == nil && one.percent[3] == nil && all.percent == one.percent && all.memory == one.memory)
        #expect(other.memory.allSatisfy { $0 == nil } && other.percent.allSatisfy { $0 == nil })
    }

    @Test("While the daemon doesn't answer, the figures have a gap, of an hour at most; one of a point that is late has none")
    func gap() throws {
        var tree = Self.tree
        for index in tree.children.indices { tree.children[index].mailbox = TreeNode.Mailbox(waiting: index + 1) }
        var (sampler, now) = (Sampler(), ContinuousClock.now)
        func waiting(after pause: Duration, _ path: String?) throws -> [Float?] {
            now += pause
            _ = sampler.rows(of: tree, former: [:])
            sampler.addPoints(nil, at: now)
            return try #require(sampler.report(of: path)).waiting
        }
        #expect(try waiting(after: .zero, "/a") == [1])
        #expect(try waiting(after: .seconds(14), nil) == [3, 3])
        #expect(try waiting(after: .seconds(31), nil) == [3, 3, nil, nil, 3])
        #expect(try waiting(after: .seconds(10), "/b") == [2, 2, nil, nil, 2, 2])
        // A path that is new has no past, and so no gap.
        tree.children[1].path = "/c"
        #expect(try waiting(after: .seconds(30), "/c") == [2])
        #expect(try waiting(after: .seconds(1_000_000), "/a") == [Float?](repeating: nil, count: 359) + [1])
    }

    @Test("The counts of another daemon, which have shrunk, count from nothing, and times beyond the last bound are that bound")
    func shrunk() throws {
        let points = [Self.metrics(("/a", [90, 0, 0, 0])), Self.metrics(("/a", [0, 0, 0, 4]))]
        #expect(try Self.latest("/a", after: points).median == [nil, 0.1])
    }
}
