import ConcurrencySupport
import Coordinators
import Processes

/// The numbers of a tree at a moment.
struct TreeNumbers: Sendable {
    /// The coordinators and programs, parents before their children; empty while the tree can't be described.
    var nodes: [CoordinatorSnapshot] = []
    /// What the kernel tells of the processes at the paths, those of other users left out.
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
        processes = nodes.prefix(TreeFamily.limit).compactMap { node in
            // In a process of its own; the number may be another process's by now.
            guard node.host != .inProcess || node.path.isRoot, let number = node.processID, let usage = ProcessUsage(of: number),
                usage.startTime == node.processStartTime
            else { return nil }
            return (node.path.description, usage, ProcessUsage.openDescriptors(of: number))
        }
        (self.asks, self.deadLetters) = (asks, deadLetters)
    }
}

/// A number of a tree, for each backend alike.
struct TreeFamily: Sendable {
    enum Kind: String, Sendable { case gauge, counter }

    /// A value, and what it's of.
    typealias Sample = (labels: [(String, String)], value: Double)

    /// The number of coordinators that have numbers of their own, the first in tree order: keys are often as many as users.
    static let limit = AskDurations.limit

    let name: String
    let kind: Kind
    let help: String
    let samples: @Sendable (TreeNumbers) -> [Sample]

    /// All of them but the times of asks, which are histograms.
    static let all: [TreeFamily] = [
        TreeFamily("coordinator_nodes", .gauge, "Coordinators and programs in each state.") { numbers in
            var counts: [String: Int] = [:]
            for node in numbers.nodes { counts[node.isUnresponsive ? "unresponsive" : node.state.rawValue, default: 0] += 1 }
            return states.map { ([("state", $0)], Double(counts[$0] ?? 0)) }
        },
        TreeFamily("coordinator_paths_left_out", .gauge, "Coordinators beyond the number of those that have metrics of their own.") {
            [([], Double($0.leftOut))]
        },
        TreeFamily("coordinator_dead_letters_total", .counter, "Messages and events that were dropped in the tree.") {
            [([], Double($0.deadLetters))]
        },
        perNode("coordinator_up", .gauge, "Whether a coordinator or program is active or paused.") { $0.isServing ? 1 : 0 },
        perNode("coordinator_unresponsive", .gauge, "Whether the worker doesn't answer.") { $0.isUnresponsive ? 1 : 0 },
        perNode("coordinator_restarts_total", .counter, "Restarts by the supervisor.") { Double($0.restarts) },
        perNode("coordinator_incarnation", .gauge, "The number of the present life.") { Double($0.incarnation) },
        perNode("coordinator_uptime_seconds", .gauge, "The time since the node became active.") {
            $0.isServing ? $0.uptime?.inSeconds : nil
        },
        perNode("coordinator_messages_handled_total", .counter, "Messages that the present life has handled.") {
            $0.mailbox.map { Double($0.handled) }
        },
        perNode("coordinator_mailbox_waiting", .gauge, "Messages that wait.") { $0.mailbox.map { Double($0.waiting) } },
        perNode("coordinator_mailbox_running", .gauge, "Messages whose handlers run.") { $0.mailbox.map { Double($0.running) } },
        perNode("coordinator_mailbox_oldest_seconds", .gauge, "The time for which the oldest waiting message has waited.") {
            $0.mailbox.map { $0.oldestWaiting?.inSeconds ?? 0 }
        },
        perProcess("coordinator_process_cpu_seconds_total", .counter, "The processor time that the process at the path has used.") {
            usage,
            _ in
            Double(usage.ticks) / ProcessUsage.ticksPerSecond
        },
        perProcess("coordinator_process_resident_memory_bytes", .gauge, "The memory that the process at the path has in use.") { usage, _ in
            Double(usage.residentBytes)
        },
        perProcess("coordinator_process_open_fds", .gauge, "The descriptors that the process at the path has open.") { _, descriptors in
            descriptors.map { Double($0) }
        },
    ]

    private static let states = ["inactive", "starting", "active", "paused", "stopping", "restarting", "failed", "unresponsive"]

    init(_ name: String, _ kind: Kind, _ help: String, _ samples: @escaping @Sendable (TreeNumbers) -> [Sample]) {
        (self.name, self.kind, self.help, self.samples) = (name, kind, help, samples)
    }

    private static func perNode(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        _ value: @escaping @Sendable (CoordinatorSnapshot) -> Double?
    ) -> TreeFamily {
        TreeFamily(name, kind, help) { numbers in
            numbers.nodes.prefix(limit).compactMap { node in value(node).map { ([("path", node.path.description)], $0) } }
        }
    }

    private static func perProcess(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        _ value: @escaping @Sendable (ProcessUsage, Int?) -> Double?
    ) -> TreeFamily {
        TreeFamily(name, kind, help) { numbers in
            numbers.processes.compactMap { process in
                value(process.usage, process.descriptors).map { ([("path", process.path)], $0) }
            }
        }
    }
}

/// The times of asks, as they are told to each backend.
enum AskFamily {
    static let name = "coordinator_ask_duration_seconds"
    static let help = "The time from the arrival of an ask in the coordinator's process to its answer."
    static let bounds = Histogram.bounds.map(\.inSeconds)

    static func labels(of key: AskDurations.Key) -> [(String, String)] {
        [("path", key.path), ("message", key.message), ("outcome", key.hasFailed ? "failure" : "success")]
    }
}

extension CoordinatorSnapshot {
    fileprivate var isServing: Bool { !isUnresponsive && (state == .active || state == .paused) }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(nanosecondsClamped) / 1e9 }
}
