import ConcurrencySupport
import Control
import Processes
import WireProtocol

/// The tree at one moment, and what its processes have used until then, each with its descendants.
struct TopSample {
    var tree: TreeNode
    var usage: [Int32: ProcessUsage]
    var at: MonotonicTime

    /// Takes a sample of a tree that was just described.
    init(_ tree: TreeNode, at moment: MonotonicTime = .now) {
        self.tree = tree
        at = moment
        // The daemon's other children are the tree's.
        usage = FamilyUsage(of: Set(tree.subtree.compactMap(\.pid)), alone: Set([tree.pid].compactMap(\.self))).sums.mapValues(\.usage)
    }
}

/// One line of `top`: a coordinator or program, with rates since the sample before.
struct TopRow: Codable, Hashable {
    /// The path.
    var path: String
    /// The coordinator's type, or the program's name.
    var type: String
    /// The state; a later version may have more than there are now.
    var state: String
    /// The state as it is shown: with the attempt and the countdown of a restart.
    var stateText = ""
    /// The number of the process; nil: there is none.
    var pid: Int32?
    /// The number of the present life, counted from 1; 0 before the first.
    var incarnation: UInt32
    /// The restarts by its supervisor.
    var restarts: Int
    /// The time since it became active, in milliseconds.
    var uptimeMilliseconds: Int64
    /// The time since it was told to stop, in milliseconds; nil unless it is stopping.
    var stoppingMilliseconds: Int64?
    /// The messages that wait; nil when they aren't known.
    var waiting: Int?
    /// The messages whose handlers run; nil when they aren't known.
    var running: Int?
    /// The time for which the oldest message that waits has waited, in milliseconds.
    var oldestWaitingMilliseconds: Int64?
    /// The messages that were handled each second; nil in the first sample.
    var handledPerSecond: Double?
    /// The processor time of the process and its descendants in percent of one processor; nil in the first sample, and for what shares its parent's process.
    var cpuPercent: Double?
    /// The memory of the process and its descendants; nil for what shares its parent's process.
    var memoryBytes: UInt64?
    var depth = 0
    var key = ""

    private enum CodingKeys: String, CodingKey {
        case path, type, state, pid, incarnation, restarts, waiting, running
        case uptimeMilliseconds = "uptime_ms"
        case stoppingMilliseconds = "stopping_ms"
        case oldestWaitingMilliseconds = "oldest_waiting_ms"
        case handledPerSecond = "handled_per_second"
        case cpuPercent = "cpu_percent"
        case memoryBytes = "memory_bytes"
    }

    init(_ node: TreeNode, depth: Int, ownsProcess: Bool, _ sample: TopSample, before: TopSample?, former: TreeNode?) {
        (path, type, state, stateText, pid) = (node.path, node.type, node.state, node.stateText, node.pid)
        (incarnation, restarts, uptimeMilliseconds) = (node.incarnation, node.restarts, node.uptimeMilliseconds)
        stoppingMilliseconds = node.stoppingMilliseconds
        (waiting, running) = (node.mailbox?.waiting, node.mailbox?.running)
        oldestWaitingMilliseconds = node.mailbox?.oldestWaitingMilliseconds
        (self.depth, key) = (depth, node.key)
        let seconds = before.map { ($0.at.distance(to: sample.at)) } ?? 0
        if seconds > 0, let now = node.mailbox?.handled, let then = former?.mailbox?.handled, former?.incarnation == node.incarnation {
            handledPerSecond = Double(now - min(now, then)) / seconds
        }
        guard ownsProcess, let pid, let usage = sample.usage[pid] else { return }
        memoryBytes = usage.residentBytes
        if seconds > 0, let then = before?.usage[pid], then.startTime == usage.startTime {
            cpuPercent = Double(usage.ticks - min(usage.ticks, then.ticks)) / ProcessUsage.ticksPerSecond / seconds * 100
        }
    }

    /// Returns the rows of a tree in its order.
    static func rows(_ sample: TopSample, before: TopSample?) -> [TopRow] {
        let former = Dictionary(
            (before?.tree.subtree ?? []).map { ($0.path, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        func rows(_ node: TreeNode, depth: Int, parent: Int32?, isElsewhere: Bool) -> [TopRow] {
            // The number of a process on another machine says nothing here.
            let isElsewhere = isElsewhere || node.isElsewhere == true
            let ownsProcess = node.pid != parent && !isElsewhere
            let row = TopRow(node, depth: depth, ownsProcess: ownsProcess, sample, before: before, former: former[node.path])
            return [row] + node.children.flatMap { rows($0, depth: depth + 1, parent: node.pid, isElsewhere: isElsewhere) }
        }
        return rows(sample.tree, depth: 0, parent: nil, isElsewhere: false)
    }
}

extension MonotonicTime {
    fileprivate func distance(to later: MonotonicTime) -> Double { (later - self) / .seconds(1) }
}

/// The orders of the rows.
enum TopOrder: String, CaseIterable {
    case tree, state, cpu, memory, waiting, rate, restarts, uptime

    func sorted(_ rows: [TopRow], reversed: Bool) -> [TopRow] {
        func by(_ value: (TopRow) -> Double) -> [TopRow] {
            rows.enumerated().sorted { left, right in
                let (a, b) = (value(left.element), value(right.element))
                return a == b ? left.offset < right.offset : a > b
            }.map(\.element)
        }
        let sorted =
            switch self {
            case .tree: rows
            case .state: by { Double($0.trouble) }
            case .cpu: by { $0.cpuPercent ?? -1 }
            case .memory: by { Double($0.memoryBytes ?? 0) }
            case .waiting: by { Double($0.waiting ?? -1) }
            case .rate: by { $0.handledPerSecond ?? -1 }
            case .restarts: by { Double($0.restarts) }
            case .uptime: by { Double($0.uptimeMilliseconds) }
            }
        return reversed ? sorted.reversed() : sorted
    }
}

extension TopRow {
    /// How much a state needs the operator: the most first.
    var trouble: Int { ShownState(rawValue: state)?.urgency ?? 0 }
}
