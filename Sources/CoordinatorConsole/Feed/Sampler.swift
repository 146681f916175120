import Control
import Processes

/// Turns descriptions of the tree into rows with rates, and keeps the figures of the last hour.
struct Sampler: Sendable {
    private struct Count {
        var life: UInt32
        var handled: UInt64
    }

    private var counts: [String: Count] = [:]
    private var counted: ContinuousClock.Instant?
    /// The counts at the last point of the figures.
    private var pointCounts: [String: (life: UInt32, handled: UInt64, restarts: Int)] = [:]
    private var pointFigures: [String: ProcessFigures.Figure] = [:]
    private var pointed: ContinuousClock.Instant?
    private var pointTime: Int64 = 0
    private var askTimes = AskTimes()
    private var latest: [TreeNode] = []
    private var total = Series()
    private var each: [String: Series] = [:]

    /// Returns whether it is time for another point.
    func isPointDue(at now: ContinuousClock.Instant) -> Bool {
        guard let pointed else { return true }
        return pointed.duration(to: now) >= .seconds(Series.interval) - .milliseconds(500)
    }

    /// Returns the rows of a tree, parents before their children.
    ///
    /// - Parameter figures: what the processes use, by the paths of their nodes.
    mutating func rows(of tree: TreeNode, figures: [String: ProcessFigures.Figure] = [:], former: [String: Row]) -> [Row] {
        let (moment, now) = (ContinuousClock.now, Timestamp.nowMicroseconds / 1000)
        let seconds = counted.map { $0.duration(to: moment) / .seconds(1) } ?? 0
        var rows: [Row] = []
        var counts: [String: Count] = [:]
        var nodes: [TreeNode] = []
        func add(_ node: TreeNode, place: Int) {
            var rate: Double?
            if let handled = node.mailbox?.handled {
                if let then = self.counts[node.path], then.life == node.incarnation, seconds > 0 {
                    rate = Double(handled - min(handled, then.handled)) / seconds
                }
                counts[node.path] = Count(life: node.incarnation, handled: handled)
            }
            rows.append(Row(node, place: place, at: now, rate: rate, figure: figures[node.path], former: former[node.path]))
            nodes.append(node)
            for (place, child) in node.children.enumerated() { add(child, place: place) }
        }
        add(tree, place: 0)
        (self.counts, counted, latest) = (counts, moment, nodes)
        return rows
    }

    /// Adds a point to the figures of each path and of the whole tree, after a gap for the points that were due since the last one.
    ///
    /// - Parameters:
    ///   - metrics: the times of asks until now; nil when the daemon doesn't tell them.
    ///   - figures: what the processes use, by the paths of their nodes.
    ///   - moment: the time of the point.
    mutating func addPoints(
        _ metrics: TreeMetrics?,
        figures: [String: ProcessFigures.Figure] = [:],
        at moment: ContinuousClock.Instant = .now
    ) {
        let seconds = pointed.map { $0.duration(to: moment) / .seconds(1) }
        addGap(seconds ?? 0)
        var counts: [String: (life: UInt32, handled: UInt64, restarts: Int)] = [:]
        var sum = Series.Point()
        let asks = metrics.flatMap { askTimes.next($0) }
        for node in latest {
            let former = pointCounts[node.path]
            var point = Series.Point()
            if let mailbox = node.mailbox {
                if let former, let seconds, seconds > 0 {
                    // A new life counts from nothing.
                    let then = former.life == node.incarnation ? min(former.handled, mailbox.handled) : 0
                    point.rate = Float(Double(mailbox.handled - then) / seconds)
                }
                point.waiting = Float(mailbox.waiting)
            }
            if let former { point.restarts = Float(max(0, node.restarts - former.restarts)) }
            if let figure = figures[node.path], figure.pid == node.pid {
                point.memory = Float(figure.usage.residentBytes)
                if let then = pointFigures[node.path], then.isSameProcess(as: figure), let seconds {
                    point.percent = then.usage.percent(until: figure.usage, seconds: seconds).map(Float.init)
                }
            }
            sum.add(point)
            point.record(asks?.each[node.path])
            each[node.path, default: Series()].append(point)
            counts[node.path] = (node.incarnation, node.mailbox?.handled ?? 0, node.restarts)
        }
        sum.record(asks?.total)
        total.append(sum)
        for path in each.keys where counts[path] == nil { each[path] = nil }
        (pointCounts, pointFigures) = (counts, figures)
        (pointed, pointTime) = (moment, Timestamp.nowMicroseconds / 1000)
    }

    /// Adds what nothing is known of, when the daemon hasn't answered for some time: points have no times, so the ones before would move up.
    private mutating func addGap(_ seconds: Double) {
        let missing = min(Series.capacity, Int((seconds / Double(Series.interval)).rounded()) - 1)
        guard missing > 0 else { return }
        total.appendGap(missing)
        for path in each.keys { each[path]?.appendGap(missing) }
    }

    /// Returns the figures of a path, or of the whole tree; nil for a path that there isn't.
    func report(of path: String?) -> SeriesReport? {
        guard let path else { return SeriesReport(total, end: pointTime) }
        return each[path].map { SeriesReport($0, end: pointTime) }
    }
}

extension Series.Point {
    /// Adds another point's counts; what neither knows stays unknown.
    fileprivate mutating func add(_ other: Series.Point) {
        func sum(_ left: Float?, _ right: Float?) -> Float? { left == nil && right == nil ? nil : (left ?? 0) + (right ?? 0) }
        rate = sum(rate, other.rate)
        waiting = sum(waiting, other.waiting)
        restarts = sum(restarts, other.restarts)
        percent = sum(percent, other.percent)
        memory = sum(memory, other.memory)
    }

    /// Notes the times of asks; without asks they stay unknown.
    fileprivate mutating func record(_ asks: AskHistogram?) {
        median = asks?.quantile(0.5).map(Float.init)
        p99 = asks?.quantile(0.99).map(Float.init)
    }
}
