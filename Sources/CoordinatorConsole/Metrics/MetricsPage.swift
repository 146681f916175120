import ConcurrencySupport
import Control
import Processes
import WireProtocol

/// The metrics of the daemon's tree and of the console itself, written once a second however many ask.
actor MetricsPage {
    /// The time for which a page serves again.
    private static let age = Duration.seconds(1)
    /// The wait for the daemon unless Prometheus says how long it waits for a page: half of what it waits by default.
    private static let patience = Duration.seconds(5)

    private let daemon: DaemonConnection
    private let feed: Feed
    private var kept: (body: [UInt8], at: ContinuousClock.Instant)?
    private var writing: OneShot<[UInt8]>?

    init(daemon: DaemonConnection, feed: Feed) {
        self.daemon = daemon
        self.feed = feed
    }

    /// Returns the page in time for the requester: a daemon that hangs is told as one that doesn't answer, instead of not at all.
    func response(to request: HTTPRequest) async -> HTTPResponse {
        let timeout = request[.scrapeTimeout].flatMap(Double.init).flatMap { (0.1...60).contains($0) ? Duration.seconds($0) : nil }
        let patience = timeout.map { $0 / 2 } ?? Self.patience
        return .text(.ok, PrometheusText.mediaType, .bytes(await body(within: patience)))
    }

    private func body(within patience: Duration) async -> [UInt8] {
        if let kept, kept.at.duration(to: .now) < Self.age { return kept.body }
        let page = writing ?? beginPage()
        if let body = await page.value(before: .now + patience) { return body }
        return await text(of: nil)
    }

    /// Begins a page, which all who come meanwhile wait for.
    private func beginPage() -> OneShot<[UInt8]> {
        let page = OneShot<[UInt8]>()
        writing = page
        // Not the requester's task, which may be cancelled while others wait for the same page.
        Task {
            let body = await text(of: try? await answers())
            (kept, writing) = ((body, .now), nil)
            page.settle(body)
        }
        return page
    }

    /// What the daemon tells.
    private struct Answers {
        var tree: TreeNode
        var letters: DeadLetterList
        var processes: ProcessList
        /// Nil: the daemon is of an older version, which has no such operation.
        var metrics: TreeMetrics?
    }

    private func answers() async throws(ControlError) -> Answers {
        Answers(
            tree: try ControlJSON.decode(TreeNode.self, from: try await daemon.answer(to: .tree).value),
            letters: try ControlJSON.decode(DeadLetterList.self, from: try await daemon.answer(to: .deadLetters).value),
            processes: try ControlJSON.decode(ProcessList.self, from: try await daemon.answer(to: .ps).value),
            metrics: try? ControlJSON.decode(TreeMetrics.self, from: try await daemon.answer(to: .metrics).value)
        )
    }

    /// Returns the page of these answers; nil: the daemon doesn't answer.
    private func text(of answers: Answers?) async -> [UInt8] {
        var page = PrometheusText()
        page.begin(.daemonUp)
        page.add(.daemonUp, answers == nil ? 0 : 1)
        if let answers {
            page.add(answers.tree)
            page.begin(.deadLetters)
            page.add(.deadLetters, Double(answers.letters.count))
            page.add(answers.processes)
            if let metrics = answers.metrics { page.add(metrics) }
        }
        page.begin(.streams)
        page.add(.streams, Double(await feed.viewerCount))
        return Array(page.text.utf8)
    }
}

/// What the console alone has.
extension MetricFamily {
    fileprivate static let daemonUp = MetricFamily("coordinator_console_daemon_up", .gauge, "Whether the daemon answers the console.")
    fileprivate static let streams = MetricFamily("coordinator_console_streams", .gauge, "Browsers that follow the tree.")
    fileprivate static let fileSystemHangs = MetricFamily(
        "coordinator_file_system_hangs",
        .gauge,
        "Starts of children, reads of files and other calls that a file system hasn't answered in time and still holds."
    )
    fileprivate static let unreadableEntries = MetricFamily(
        "coordinator_cluster_unreadable_entries",
        .gauge,
        "Entries of the cluster's store that can't be read and are ignored."
    )
    fileprivate static let fileExpiry = MetricFamily(
        "coordinator_cluster_file_expiry_timestamp_seconds",
        .gauge,
        "The time at which a certificate, or a list of revoked ones, that is in use expires."
    )
    fileprivate static let fileProblem = MetricFamily(
        "coordinator_cluster_file_problem",
        .gauge,
        "Whether a file, or another for the same peers, couldn't be renewed or has expired."
    )
}

extension PrometheusText {
    /// Adds what the tree itself tells.
    fileprivate mutating func add(_ tree: TreeNode) {
        let nodes = tree.all
        var counts: [String: Int] = [:]
        for node in nodes { counts[node.state, default: 0] += 1 }
        begin(.nodes)
        for state in ShownState.allCases.map(\.rawValue) { add(.nodes, Double(counts[state] ?? 0), [("state", state)]) }
        begin(.up)
        for node in nodes {
            add(.up, node.isServing ? 1 : 0, [("path", node.path), ("type", node.type), ("kind", node.kind.rawValue)])
        }
        for state in ShownState.allCases { if let gauge = state.gauge { add(gauge, nodes) { $0.shownState == state ? 1 : 0 } } }
        add(.restarts, nodes) { Double($0.restarts) }
        add(.forcedKills, nodes) { Double($0.forcedKills ?? 0) }
        add(.incarnation, nodes) { Double($0.incarnation) }
        add(.uptime, nodes) { $0.shownState?.isRunning == true ? Double($0.uptimeMilliseconds) / 1000 : nil }
        add(.handled, nodes) { $0.mailbox.map { Double($0.handled) } }
        add(.waiting, nodes) { $0.mailbox.map { Double($0.waiting) } }
        add(.running, nodes) { $0.mailbox.map { Double($0.running) } }
        add(.stuck, nodes) { $0.mailbox.map { Double($0.stuck ?? 0) } }
        add(.oldest, nodes) { $0.mailbox.map { Double($0.oldestWaitingMilliseconds ?? 0) / 1000 } }
        begin(.flows)
        for node in nodes {
            for (status, count) in node.flows?.byStatus ?? [:] {
                add(.flows, Double(count), [("path", node.path), ("status", status)])
            }
        }
        add(.flowsDue, nodes) { $0.flows.map { Double($0.due) } }
        add(.oldestFlowDue, nodes) { $0.flows.map { Double($0.oldestDueMilliseconds ?? 0) / 1000 } }
        add(.flowOutbox, nodes) { $0.flows.map { Double($0.outboxAgeMilliseconds ?? 0) / 1000 } }
        add(.flowCommits, nodes) { $0.flows?.commitP99Microseconds.map { Double($0) / 1_000_000 } }
    }

    /// Adds what the processes use: what the kernel tells of those that this user may look at.
    fileprivate mutating func add(_ list: ProcessList) {
        let here = list.processes.filter { $0.isElsewhere != true }
        let root = Set(here.filter { $0.path == "/" }.map(\.pid))
        let families = FamilyUsage(of: Set(here.map(\.pid)), alone: root).sums
        let usages = list.processes.compactMap { entry -> (path: String, usage: ProcessUsage, descriptors: Int?)? in
            // The number may be another process's by now, and certainly is when the process is on another machine.
            guard entry.isElsewhere != true else { return nil }
            guard let usage = families[entry.pid]?.usage, usage.startTime == entry.startTime else { return nil }
            return (entry.path, usage, ProcessUsage.openDescriptors(of: entry.pid))
        }
        begin(.processorTime)
        for (path, usage, _) in usages { add(.processorTime, Double(usage.ticks) / ProcessUsage.ticksPerSecond, [("path", path)]) }
        begin(.residentMemory)
        for (path, usage, _) in usages { add(.residentMemory, Double(usage.residentBytes), [("path", path)]) }
        begin(.descriptors)
        for (path, _, descriptors) in usages { if let descriptors { add(.descriptors, Double(descriptors), [("path", path)]) } }
    }

    /// Adds the times of asks, if they are counted.
    fileprivate mutating func add(_ metrics: TreeMetrics) {
        if let hangs = metrics.fileSystemHangs {
            begin(.fileSystemHangs)
            add(.fileSystemHangs, Double(hangs.count))
        }
        if let count = metrics.unreadableEntries {
            begin(.unreadableEntries)
            add(.unreadableEntries, Double(count))
        }
        if let files = metrics.clusterFiles {
            begin(.fileExpiry)
            for file in files { if let end = file.expirySeconds { add(.fileExpiry, Double(end), [("file", file.file)]) } }
            begin(.fileProblem)
            for file in files { add(.fileProblem, file.problem == nil ? 0 : 1, [("file", file.file)]) }
        }
        guard metrics.isCounting else { return }
        begin(.asks)
        for asks in metrics.asks {
            let labels = [("path", asks.path), ("message", asks.message), ("outcome", asks.hasFailed ? "failure" : "success")]
            addHistogram(.asks, bounds: metrics.boundsSeconds, counts: asks.buckets, sum: asks.sumSeconds, labels)
        }
    }

    /// Adds a family with a sample for each node that has the value.
    private mutating func add(_ family: MetricFamily, _ nodes: [TreeNode], _ value: (TreeNode) -> Double?) {
        begin(family)
        for node in nodes { if let number = value(node) { add(family, number, [("path", node.path)]) } }
    }
}

extension TreeNode {
    /// The node and its descendants, parents before their children, but for what another node of a cluster has: its own console tells of that.
    fileprivate var all: [TreeNode] { isElsewhere == true ? [] : [self] + children.flatMap(\.all) }
}
