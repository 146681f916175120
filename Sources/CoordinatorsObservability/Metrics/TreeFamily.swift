import ConcurrencySupport
import Coordinators
import Processes
import WireProtocol

/// The numbers of a tree at a moment.
struct TreeNumbers: Sendable {
    /// The coordinators and programs, parents before their children; empty while the tree can't be described.
    var nodes: [CoordinatorSnapshot] = []
    /// What the kernel tells of the processes at the paths, each with its descendants; those of other users are left out.
    var processes: [(path: String, usage: ProcessUsage, descriptors: Int?)] = []
    /// The number of messages and events that were dropped.
    var deadLetters: UInt64 = 0
    /// The times of asks; `nil` while they aren't counted.
    var asks: AskDurations?
    /// The number of coordinators beyond ``TreeFamily/limit``, which have no numbers of their own.
    var leftOut = 0

    /// - Parameter snapshot: The tree; `nil` while it can't be described.
    init(_ snapshot: CoordinatorSnapshot?, asks: AskDurations?, deadLetters: UInt64) {
        let nodes = snapshot?.withDescendants ?? []
        self.nodes = nodes
        leftOut = max(nodes.count - TreeFamily.limit, 0)
        let shown = nodes.prefix(TreeFamily.limit).filter { $0.host != .inProcess || $0.path.isRoot }
        let root = Set(nodes.filter(\.path.isRoot).compactMap(\.processID))
        let families = FamilyUsage(of: Set(nodes.compactMap(\.processID)), alone: root).sums
        processes = shown.compactMap { node in
            // In a process of its own; the number may be another process's by now.
            guard let number = node.processID, let usage = families[number]?.usage,
                usage.startTime == node.processStartTime
            else { return nil }
            return (node.path.description, usage, ProcessUsage.openDescriptors(of: number))
        }
        (self.asks, self.deadLetters) = (asks, deadLetters)
    }
}

/// A number of a tree, for each backend alike.
struct TreeFamily: Sendable {
    /// A value, and what it's of.
    typealias Sample = (labels: [(String, String)], value: Double)

    /// The number of coordinators that have numbers of their own, the first in tree order: keys are often as many as users.
    static let limit = AskDurations.limit

    let metric: MetricFamily
    let samples: @Sendable (TreeNumbers) -> [Sample]

    /// All of them but the times of asks, which are histograms.
    static let all: [TreeFamily] = ofTrees + ShownState.allCases.compactMap(ofState)

    private static func ofState(_ state: ShownState) -> TreeFamily? {
        state.gauge.map { perNode($0) { $0.shownState == state ? 1 : 0 } }
    }

    private static let ofTrees: [TreeFamily] = [
        TreeFamily(.nodes) { numbers in
            var counts: [ShownState: Int] = [:]
            for node in numbers.nodes { counts[node.shownState, default: 0] += 1 }
            return ShownState.allCases.map { ([("state", $0.rawValue)], Double(counts[$0] ?? 0)) }
        },
        TreeFamily(
            MetricFamily("coordinator_paths_left_out", .gauge, "Coordinators beyond the number of those that have metrics of their own.")
        ) { [([], Double($0.leftOut))] },
        TreeFamily(.deadLetters) { [([], Double($0.deadLetters))] },
        perNode(.up) { $0.shownState.isServing ? 1 : 0 },
        perNode(.restarts) { Double($0.restarts) },
        perNode(.forcedKills) { Double($0.forcedKills) },
        perNode(.incarnation) { Double($0.incarnation) },
        perNode(.uptime) { $0.shownState.isRunning ? $0.uptime?.inSeconds : nil },
        perNode(.handled) { $0.mailbox.map { Double($0.handled) } },
        perNode(.waiting) { $0.mailbox.map { Double($0.waiting) } },
        perNode(.running) { $0.mailbox.map { Double($0.running) } },
        perNode(.stuck) { $0.mailbox.map { Double($0.stuck) } },
        perNode(.oldest) { $0.mailbox.map { $0.oldestWaiting?.inSeconds ?? 0 } },
        TreeFamily(.flows) { numbers in
            numbers.nodes.lazy.filter { $0.flows != nil }.prefix(limit / 3).flatMap { node -> [Sample] in
                let flows = node.flows ?? CoordinatorSnapshot.Flows()
                return [("open", flows.open), ("unwinding", flows.unwinding), ("parked", flows.parked)].map { status, count in
                    ([("path", node.path.description), ("status", status)], Double(count))
                }
            }
        },
        perNode(.flowsDue) { $0.flows.map { Double($0.due) } },
        perNode(.oldestFlowDue) { $0.flows.map { $0.oldestDue?.inSeconds ?? 0 } },
        perNode(.flowOutbox) { $0.flows.map { $0.outboxAge?.inSeconds ?? 0 } },
        perNode(.flowCommits) { $0.flows?.commitP99?.inSeconds },
        perProcess(.processorTime) { usage, _ in Double(usage.ticks) / ProcessUsage.ticksPerSecond },
        perProcess(.residentMemory) { usage, _ in Double(usage.residentBytes) },
        perProcess(.descriptors) { _, descriptors in descriptors.map { Double($0) } },
    ]

    init(_ family: MetricFamily, _ samples: @escaping @Sendable (TreeNumbers) -> [Sample]) {
        (metric, self.samples) = (family, samples)
    }

    private static func perNode(_ family: MetricFamily, _ value: @escaping @Sendable (CoordinatorSnapshot) -> Double?) -> TreeFamily {
        TreeFamily(family) { numbers in
            numbers.nodes.prefix(limit).compactMap { node in value(node).map { ([("path", node.path.description)], $0) } }
        }
    }

    private static func perProcess(_ family: MetricFamily, _ value: @escaping @Sendable (ProcessUsage, Int?) -> Double?) -> TreeFamily {
        TreeFamily(family) { numbers in
            numbers.processes.compactMap { process in
                value(process.usage, process.descriptors).map { ([("path", process.path)], $0) }
            }
        }
    }
}

/// The times of asks, as they are told to each backend.
enum AskFamily {
    static let bounds = Histogram.bounds.map(\.inSeconds)

    static func labels(of key: AskDurations.Key) -> [(String, String)] {
        [("path", key.path), ("message", key.message), ("outcome", key.hasFailed ? "failure" : "success")]
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(nanosecondsClamped) / 1e9 }
}
