import ConcurrencySupport
import Control
import Coordinators
import Processes
import WireProtocol

extension TreeNode {
    init(_ snapshot: CoordinatorSnapshot) {
        let placement: Placement =
            switch snapshot.host {
            case .inProcess: .inProcess
            case .worker: .worker
            case .program: .program
            }
        self.init(
            key: snapshot.path.isRoot ? "/" : snapshot.path.key,
            path: snapshot.path.description,
            type: snapshot.type,
            kind: snapshot.path.isRoot ? .root : snapshot.host == .program ? .program : .coordinator,
            state: snapshot.shownState.rawValue,
            pid: snapshot.processID,
            incarnation: snapshot.incarnation,
            restarts: snapshot.restarts,
            restartAttempt: snapshot.restartAttempt,
            nextStartMilliseconds: snapshot.nextStart?.wholeMilliseconds,
            stoppingMilliseconds: snapshot.stopping?.wholeMilliseconds,
            stopTimeoutMilliseconds: snapshot.stopTimeout?.wholeMilliseconds,
            uptimeMilliseconds: snapshot.uptime?.wholeMilliseconds ?? 0,
            placement: placement,
            executorSilenceMilliseconds: snapshot.executorSilence?.wholeMilliseconds,
            lastExit: snapshot.lastExit?.description,
            mailbox: snapshot.mailbox.map { Mailbox($0) },
            statusText: snapshot.statusText,
            health: snapshot.health.map { Health(healthy: $0.isHealthy, failures: $0.failures, problem: $0.problem) },
            children: snapshot.children.map { TreeNode($0) }
        )
        (lastExitCode, lastExitSignal) = (snapshot.lastExit?.exitCode, snapshot.lastExit?.signal)
        forcedKills = snapshot.forcedKills > 0 ? snapshot.forcedKills : nil
        flows = snapshot.flows.map { Flows($0) }
    }
}

extension TreeNode.Flows {
    fileprivate init(_ flows: CoordinatorSnapshot.Flows) {
        self.init(open: flows.open, unwinding: flows.unwinding, parked: flows.parked, due: flows.due)
        oldestDueMilliseconds = flows.oldestDue?.wholeMilliseconds
        outboxAgeMilliseconds = flows.outboxAge?.wholeMilliseconds
        commitP99Microseconds = flows.commitP99.map { $0.wholeMicroseconds }
    }
}

extension TreeNode.Mailbox {
    fileprivate init(_ mailbox: CoordinatorSnapshot.Mailbox) {
        self.init(
            waiting: mailbox.waiting,
            running: mailbox.running,
            oldestWaitingMilliseconds: mailbox.oldestWaiting?.wholeMilliseconds,
            handled: mailbox.handled,
            stuck: mailbox.stuck > 0 ? mailbox.stuck : nil,
            places: mailbox.places.isEmpty ? nil : mailbox.places.map { Place($0) }
        )
    }
}

extension TreeNode.Mailbox.Place {
    fileprivate init(_ place: CoordinatorSnapshot.WaitingPlace) {
        self.init(
            reason: place.reason.rawValue,
            key: place.key,
            waiting: place.waiting,
            oldestWaitingMilliseconds: place.oldestWaiting.wholeMilliseconds
        )
    }
}

extension ProcessList {
    /// Creates the list of the tree's processes, parents before children.
    ///
    /// A coordinator in its parent's process has no entry.
    init(_ snapshot: CoordinatorSnapshot) {
        var entries = Self.entries(snapshot, parent: nil)
        let root = Set([snapshot.processID].compactMap(\.self))
        let families = FamilyUsage(of: Set(entries.map(\.pid)), alone: root).sums
        for index in entries.indices {
            guard let sum = families[entries[index].pid], sum.usage.startTime == entries[index].startTime else { continue }
            (entries[index].processCount, entries[index].memoryBytes) = (sum.count, sum.usage.residentBytes)
        }
        self.init(processes: entries)
    }

    private static func entries(_ snapshot: CoordinatorSnapshot, parent: Int32?) -> [Entry] {
        var entries: [Entry] = []
        if let pid = snapshot.processID, pid != parent {
            entries.append(
                Entry(
                    pid: pid,
                    path: snapshot.path.description,
                    startTime: snapshot.processStartTime ?? 0,
                    uptimeMilliseconds: snapshot.uptime?.wholeMilliseconds ?? 0,
                    state: snapshot.shownState.rawValue,
                    restarts: snapshot.restarts,
                    incarnation: snapshot.incarnation,
                    stoppingMilliseconds: snapshot.stopping?.wholeMilliseconds
                )
            )
        }
        return entries + snapshot.children.flatMap { Self.entries($0, parent: snapshot.processID) }
    }
}

extension LifecycleResult {
    init(_ node: TreeNode) {
        let exit = node.state == "inactive" ? node.lastExit : nil
        self.init(path: node.path, state: node.state, pid: node.pid, incarnation: node.incarnation, lastExit: exit)
        if exit != nil { (lastExitCode, lastExitSignal) = (node.lastExitCode, node.lastExitSignal) }
    }

    init(_ snapshot: CoordinatorSnapshot) {
        self.init(
            path: snapshot.path.description,
            state: snapshot.shownState.rawValue,
            pid: snapshot.processID,
            incarnation: snapshot.incarnation
        )
    }
}

extension DeadLetterList {
    init(_ report: DeadLetterReport) {
        self.init(
            count: report.count,
            letters: report.letters.map { letter in
                Letter(
                    name: letter.name,
                    sender: letter.sender.description,
                    target: letter.target.description,
                    reason: letter.reason.description
                )
            }
        )
    }
}
