import ConcurrencySupport
import Control
import Processes
import WireProtocol

/// The metrics of the daemon's tree and of the console itself, written once a second however many ask.
actor MetricsPage {
    /// The time for which a page serves again.
    private static let age = Duration.seconds(1)

    private let daemon: DaemonConnection
    private let feed: Feed
    private var kept: (body: [UInt8], at: ContinuousClock.Instant)?
    private var writing: Task<[UInt8], Never>?

    init(daemon: DaemonConnection, feed: Feed) {
        self.daemon = daemon
        self.feed = feed
    }

    func response() async -> HTTPResponse { .text(.ok, PrometheusText.mediaType, .bytes(await body())) }

    private func body() async -> [UInt8] {
        if let kept, kept.at.duration(to: .now) < Self.age { return kept.body }
        if let writing { return await writing.value }
        // Not the requester's task, which may be cancelled while others wait for the same page.
        let task = Task { await self.write() }
        writing = task
        let body = await task.value
        (kept, writing) = ((body, .now), nil)
        return body
    }

    private func write() async -> [UInt8] {
        var page = PrometheusText()
        page.begin("coordinator_console_daemon_up", "gauge", help: "Whether the daemon answers the console.")
        do throws(ControlError) {
            let tree = try ControlJSON.decode(TreeNode.self, from: try await daemon.answer(to: .tree).value)
            let letters = try ControlJSON.decode(DeadLetterList.self, from: try await daemon.answer(to: .deadLetters).value)
            page.add("coordinator_console_daemon_up", 1)
            page.add(tree)
            page.begin("coordinator_dead_letters_total", "counter", help: "Messages and events that were dropped in the tree.")
            page.add("coordinator_dead_letters_total", Double(letters.count))
            page.add(try ControlJSON.decode(ProcessList.self, from: try await daemon.answer(to: .ps).value))
        } catch {
            page.add("coordinator_console_daemon_up", 0)
        }
        // A daemon of an older version has no such operation.
        if let metrics = try? ControlJSON.decode(TreeMetrics.self, from: try await daemon.answer(to: .metrics).value) {
            page.add(metrics)
        }
        page.begin("coordinator_console_streams", "gauge", help: "Browsers that follow the tree.")
        page.add("coordinator_console_streams", Double(await feed.viewerCount))
        return Array(page.text.utf8)
    }
}

extension PrometheusText {
    private static let states = [
        "inactive", "waiting", "starting", "active", "paused", "stopping", "restarting", "failed", "unresponsive",
    ]

    /// Adds what the tree itself tells.
    fileprivate mutating func add(_ tree: TreeNode) {
        let nodes = tree.all
        var counts: [String: Int] = [:]
        for node in nodes { counts[node.state, default: 0] += 1 }
        begin("coordinator_nodes", "gauge", help: "Coordinators and programs in each state.")
        for state in Self.states { add("coordinator_nodes", Double(counts[state] ?? 0), [("state", state)]) }
        begin("coordinator_up", "gauge", help: "Whether a coordinator or program is active or paused.")
        for node in nodes {
            add("coordinator_up", node.isServing ? 1 : 0, [("path", node.path), ("type", node.type), ("kind", node.kind.rawValue)])
        }
        family("coordinator_failed", "gauge", "Whether the supervisor has given up.", nodes) { $0.state == "failed" ? 1 : 0 }
        family("coordinator_unresponsive", "gauge", "Whether the worker doesn't answer.", nodes) { $0.state == "unresponsive" ? 1 : 0 }
        family("coordinator_restarts_total", "counter", "Restarts by the supervisor.", nodes) { Double($0.restarts) }
        family("coordinator_incarnation", "gauge", "The number of the present life.", nodes) { Double($0.incarnation) }
        family("coordinator_uptime_seconds", "gauge", "The time since the node became active.", nodes) {
            $0.isServing ? Double($0.uptimeMilliseconds) / 1000 : nil
        }
        family("coordinator_messages_handled_total", "counter", "Messages that the present life has handled.", nodes) {
            $0.mailbox.map { Double($0.handled) }
        }
        family("coordinator_mailbox_waiting", "gauge", "Messages that wait.", nodes) { $0.mailbox.map { Double($0.waiting) } }
        family("coordinator_mailbox_running", "gauge", "Messages whose handlers run.", nodes) { $0.mailbox.map { Double($0.running) } }
        family("coordinator_mailbox_oldest_seconds", "gauge", "The time for which the oldest waiting message has waited.", nodes) {
            $0.mailbox.map { Double($0.oldestWaitingMilliseconds ?? 0) / 1000 }
        }
    }

    /// Adds what the processes use: what the kernel tells of those that this user may look at.
    fileprivate mutating func add(_ list: ProcessList) {
        let usages = list.processes.compactMap { entry -> (path: String, usage: ProcessUsage, descriptors: Int?)? in
            // The number may be another process's by now, and certainly is when the process is on another machine.
            guard entry.isElsewhere != true else { return nil }
            guard let usage = ProcessUsage(of: entry.pid), usage.startTime == entry.startTime else { return nil }
            return (entry.path, usage, ProcessUsage.openDescriptors(of: entry.pid))
        }
        begin("coordinator_process_cpu_seconds_total", "counter", help: "The processor time that the process at the path has used.")
        for (path, usage, _) in usages {
            add("coordinator_process_cpu_seconds_total", Double(usage.ticks) / ProcessUsage.ticksPerSecond, [("path", path)])
        }
        begin("coordinator_process_resident_memory_bytes", "gauge", help: "The memory that the process at the path has in use.")
        for (path, usage, _) in usages { add("coordinator_process_resident_memory_bytes", Double(usage.residentBytes), [("path", path)]) }
        begin("coordinator_process_open_fds", "gauge", help: "The descriptors that the process at the path has open.")
        for (path, _, descriptors) in usages {
            if let descriptors { add("coordinator_process_open_fds", Double(descriptors), [("path", path)]) }
        }
    }

    /// Adds the times of asks, if they are counted.
    fileprivate mutating func add(_ metrics: TreeMetrics) {
        if let count = metrics.unreadableEntries {
            let name = "coordinator_cluster_unreadable_entries"
            begin(name, "gauge", help: "Entries of the cluster's store that can't be read and are ignored.")
            add(name, Double(count))
        }
        if let files = metrics.clusterFiles {
            let expiry = "coordinator_cluster_file_expiry_timestamp_seconds"
            begin(expiry, "gauge", help: "The time at which a certificate, or a list of revoked ones, that is in use expires.")
            for file in files { if let end = file.expirySeconds { add(expiry, Double(end), [("file", file.file)]) } }
            let problem = "coordinator_cluster_file_problem"
            begin(problem, "gauge", help: "Whether a file, or another for the same peers, couldn't be renewed or has expired.")
            for file in files { add(problem, file.problem == nil ? 0 : 1, [("file", file.file)]) }
        }
        guard metrics.isCounting else { return }
        let name = "coordinator_ask_duration_seconds"
        begin(name, "histogram", help: "The time from the arrival of an ask in the coordinator's process to its answer.")
        for asks in metrics.asks {
            let labels = [("path", asks.path), ("message", asks.message), ("outcome", asks.hasFailed ? "failure" : "success")]
            addHistogram(name, bounds: metrics.boundsSeconds, counts: asks.buckets, sum: asks.sumSeconds, labels)
        }
    }

    /// Adds a family with a sample for each node that has the value.
    private mutating func family(_ name: String, _ kind: String, _ help: String, _ nodes: [TreeNode], _ value: (TreeNode) -> Double?) {
        begin(name, kind, help: help)
        for node in nodes { if let number = value(node) { add(name, number, [("path", node.path)]) } }
    }
}

extension TreeNode {
    /// The node and its descendants, parents before their children.
    fileprivate var all: [TreeNode] { [self] + children.flatMap(\.all) }
}
