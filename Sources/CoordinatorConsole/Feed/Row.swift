import Control
import Processes
import WireProtocol

/// One line of the tree, as browsers get it.
///
/// Times are milliseconds since 1970 and not durations, so that a line changes only when something has happened.
struct Row: Codable, Hashable, Sendable {
    var path: String
    var key: String
    /// The place among the siblings, from 0.
    var place: Int
    var type: String
    var kind: String
    var placement: String
    var state: String
    var pid: Int32?
    var life: UInt32
    var restarts: Int
    /// The number of the next restart in a row, and its time.
    var attempt: Int?
    var due: Int64?
    /// The time since which the node is active.
    var since: Int64?
    var waiting: Int?
    var running: Int?
    /// The handlers that run on past their cancellation; nil when there are none.
    var stuck: Int?
    /// The time at which the oldest waiting message came.
    var oldest: Int64?
    /// The messages that were handled each second, to two digits.
    var rate: Double?
    /// The paths of what the node waits for before it's started.
    var awaits: [String]?
    var exit: String?
    var status: String?
    var health: String?
    /// The flows of the store that the node provides.
    var flows: Flows?
    /// The processor time that the node's process uses, with its descendants, in percent of one processor, to two digits; nil of a node in the
    /// process of its parent.
    var cpu: Double?
    /// Their memory, in bytes.
    var memory: UInt64?
    /// Their number.
    var processes: Int?
    /// The command line of the node's process, and its user.
    var command: String?
    var user: String?

    /// The durable flows of a store, by what they need.
    struct Flows: Codable, Hashable, Sendable {
        var open: Int
        var parked: Int
        var due: Int
    }
}

extension Row {
    /// Describes a node.
    ///
    /// - Parameters:
    ///   - former: the row of the same path a moment ago.
    ///   - rate: the messages that were handled each second since then.
    ///   - figure: what the node's own process uses.
    init(_ node: TreeNode, place: Int, at now: Int64, rate: Double?, figure: ProcessFigures.Figure? = nil, former: Row?) {
        self.init(
            path: node.path,
            key: node.key,
            place: place,
            type: node.type,
            kind: node.kind.rawValue,
            placement: node.placement.rawValue,
            state: node.state,
            pid: node.pid,
            life: node.incarnation,
            restarts: node.restarts
        )
        attempt = node.restartAttempt
        let isSameLife = former?.life == life
        due = node.nextStartMilliseconds.map { Self.steady(now + $0, former?.attempt == attempt ? former?.due : nil) }
        if node.shownState?.isRunning == true { since = Self.steady(now - node.uptimeMilliseconds, isSameLife ? former?.since : nil) }
        waiting = node.mailbox?.waiting
        running = node.mailbox?.running
        stuck = node.mailbox?.stuck
        oldest = node.mailbox?.oldestWaitingMilliseconds.map { Self.steady(now - $0, former?.oldest, within: 100) }
        self.rate = rate.map(Self.rounded)
        awaits = node.waitsFor
        exit = node.lastExit
        status = node.statusText
        flows = node.flows.map { Flows(open: $0.open + $0.unwinding, parked: $0.parked, due: $0.due) }
        // A figure of the process before is none of this one.
        if let figure, figure.pid == node.pid {
            cpu = figure.percent.map(Self.rounded)
            memory = Self.steady(figure.usage.residentBytes, isSameLife ? former?.memory : nil)
            processes = figure.count
            (command, user) = (figure.command, figure.user)
        }
        health = node.health.map { $0.healthy ? "healthy" : "failed checks: \($0.failures), \($0.problem ?? "for an unknown reason")" }
    }

    /// Returns the former time when the new one differs by no more than the noise of two clocks.
    private static func steady(_ time: Int64, _ former: Int64?, within noise: Int64 = 1500) -> Int64 {
        guard let former, abs(former - time) <= noise else { return time }
        return former
    }

    /// Returns the former memory when the new one differs by no more than two percent.
    private static func steady(_ bytes: UInt64, _ former: UInt64?) -> UInt64 {
        guard let former, max(bytes, former) - min(bytes, former) <= former / 50 else { return bytes }
        return former
    }

    /// Returns a number with its first two digits.
    static func rounded(_ value: Double) -> Double {
        guard value >= 10 else { return (value * 10).rounded() / 10 }
        var scale = 1.0
        while value / scale >= 100 { scale *= 10 }
        return (value / scale).rounded() * scale
    }
}
