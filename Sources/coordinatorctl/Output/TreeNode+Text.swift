import Control
import WireProtocol

extension TreeNode {
    /// The tree drawn with box characters, one line for each node, each ended by a newline.
    var text: String { text(.off) }

    /// The same with states in their colours.
    func text(_ colours: Colours) -> String {
        var rows: [[String]] = [["NAME", "STATE", "PID", "LIFE", "RESTARTS", "UPTIME", "WAITING", "TYPE", "LAST EXIT"]]
        appendRows(to: &rows, first: "", rest: "", colours)
        var columns: [TextLayout.Alignment] = [.left, .left, .right, .right, .right, .right, .right, .left, .left]
        // Columns in which nothing stands are left out.
        for column in columns.indices.reversed() where rows.dropFirst().allSatisfy({ $0[column].isEmpty }) {
            columns.remove(at: column)
            rows = rows.map { $0.enumerated().filter { $0.offset != column }.map(\.element) }
        }
        return TextLayout.table(rows, columns, yielding: 0)
    }

    private func appendRows(to rows: inout [[String]], first: String, rest: String, _ colours: Colours) {
        rows.append([
            first + TextLayout.printable(key), colours.text(TextLayout.printable(stateText), in: state), pid.map(String.init) ?? "-",
            "\(incarnation)",
            "\(restarts)", uptimeText, waitingText, TextLayout.printable(type), TextLayout.printable(lastExit ?? ""),
        ])
        for (index, child) in children.enumerated() {
            let isLast = index == children.count - 1
            child.appendRows(to: &rows, first: rest + (isLast ? "└─ " : "├─ "), rest: rest + (isLast ? "   " : "│  "), colours)
        }
    }

    /// The state; of a subtree that lives on another node of the cluster, with that node.
    ///
    /// Of a node that waits for others it has the first of these; of an unhealthy program it has the number of failed checks; of a node that waits for its next start, the number of the attempt and
    /// the remaining time; of one that is stopping, and of a worker whose executor runs nothing, the time since when.
    var stateText: String {
        guard let clusterNode, isElsewhere == true else { return ownStateText }
        // What isn't known there is what this daemon knows: nothing runs here.
        return pid == nil && state == "inactive" ? "on \(clusterNode)" : "\(ownStateText) on \(clusterNode)"
    }

    private var ownStateText: String {
        if shownState == .waiting, let first = waitsFor?.first {
            return "\(state) for \(first)\(waitsFor.map { $0.count > 1 ? " and \($0.count - 1) more" : "" } ?? "")"
        }
        if let stopping = stoppingMilliseconds { return state.text(stoppingFor: stopping) }
        if let silence = executorSilenceMilliseconds { return "\(state), executor silent for \(Duration.milliseconds(silence).briefText)" }
        if let health, !health.healthy, shownState?.isRunning == true {
            return shownState == .unhealthy ? "\(state) (\(health.failures))" : "\(state), failed checks: \(health.failures)"
        }
        if let stuck = mailbox?.stuck { return "\(state), stuck handlers: \(stuck)" }
        guard let nextStartMilliseconds else { return state }
        let time = Duration.milliseconds(nextStartMilliseconds).briefText
        if state != "restarting", restartAttempt == nil { return "\(state), next run in \(time)" }
        let attempt = restartAttempt.map { " \($0)" } ?? ""
        return "\(state)\(attempt) in \(time)"
    }

    /// The time since the node became active; a dash when it isn't up.
    var uptimeText: String {
        let isUp = !["inactive", "waiting", "failed", "starting", "restarting", "failing"].contains(state)
        return isUp ? Duration.milliseconds(uptimeMilliseconds).briefText : "-"
    }

    /// The number of waiting messages, and the time for which the oldest has waited; nothing when none waits.
    private var waitingText: String {
        guard let mailbox, mailbox.waiting > 0 else { return "" }
        let age = mailbox.oldestWaitingMilliseconds.map { " for \(Duration.milliseconds($0).briefText)" } ?? ""
        // That messages wait for a handler needs no words.
        let others = mailbox.reasons.filter { $0 != "handler" && $0 != "parent" }
        return "\(mailbox.waiting)\(age)\(others.isEmpty ? "" : ": " + others.joined(separator: ", "))"
    }

    /// The tree without what runs as it should: the nodes that don't, and those that these are in; nil when there is none.
    var onlyTroubled: TreeNode? {
        var node = self
        node.children = children.compactMap(\.onlyTroubled)
        return isTroubled || !node.children.isEmpty ? node : nil
    }

    private var isTroubled: Bool { shownState?.isTrouble == true || health?.healthy == false }

    /// Returns the node's object without those of the descendants that run as they should.
    func troubled(_ json: JSONValue) -> JSONValue { onlyTroubled(json).json }

    private func onlyTroubled(_ json: JSONValue) -> (json: JSONValue, isTroubled: Bool) {
        guard case .array(let elements)? = json["children"] else { return (json, isTroubled) }
        var json = json
        let kept = zip(children, elements).map { $0.onlyTroubled($1) }.filter { $0.isTroubled }.map { $0.json }
        json["children"] = .array(kept)
        return (json, isTroubled || !kept.isEmpty)
    }

    /// All facts about this node, one a line, then its descendants.
    var details: String { details(.off) }

    /// The same with states in their colours.
    ///
    /// - Parameter process: What the kernel tells of the node's process.
    func details(_ colours: Colours, _ process: ProcessFacts? = nil) -> String {
        var facts: [[String]] = [
            ["path", path], ["type", type], ["kind", kind.rawValue], ["state", TextLayout.printable(stateText)],
            ["placement", placement.rawValue],
            ["pid", pid.map(String.init) ?? "-"], ["life", "\(incarnation)"], ["restarts", "\(restarts)"],
            ["uptime", uptimeText],
        ]
        if let command = process?.command(of: self) { facts.append(["command", command]) }
        facts += process?.figures(of: self) ?? []
        if let mailbox {
            facts += [
                ["waiting", waitingText.isEmpty ? "0" : waitingText], ["running", "\(mailbox.running)"], ["handled", "\(mailbox.handled)"],
            ]
            if let stuck = mailbox.stuck { facts.append(["stuck", "\(stuck)"]) }
        }
        if let flows {
            facts.append(["flows", flows.byStatus.map { "\($0.value) \($0.key), " }.joined() + "\(flows.due) due"])
        }
        if let waitsFor { facts.append(["waits for", waitsFor.joined(separator: ", ")]) }
        if let statusText { facts.append(["status", statusText]) }
        if let health { facts.append(["health", health.text(shownState == .unhealthy)]) }
        if let lastExit { facts.append(["last exit", lastExit]) }
        if let clusterNode { facts.append(["node", clusterNode]) }
        let cells = facts.map { fact in
            [fact[0] + ":", fact[0] == "state" ? colours.text(fact[1], in: state) : TextLayout.printable(fact[1])]
        }
        let table = TextLayout.table(cells, [.left, .left])
        return children.isEmpty ? table : table + "\n" + text(colours)
    }
}

extension String {
    /// This state, of a node that was told to stop so long ago.
    func text(stoppingFor milliseconds: Int64) -> String { "\(self) for \(Duration.milliseconds(milliseconds).briefText)" }
}

extension TreeNode.Health {
    fileprivate func text(_ isUnhealthy: Bool) -> String {
        if healthy { return "healthy" }
        let count = failures == 1 ? "1 failed check" : "\(failures) failed checks"
        return (isUnhealthy ? "unhealthy, " : "") + "\(count): \(problem ?? "for an unknown reason")"
    }
}

extension TreeNode.Mailbox {
    /// What messages wait for, each once.
    fileprivate var reasons: [String] { Set((places ?? []).map(\.reason)).sorted().map { TextLayout.printable($0) } }

    /// How many messages wait for what, the most first; nothing when none waits.
    var placesText: String {
        (places ?? []).sorted { $0.waiting > $1.waiting }
            .map { TextLayout.printable("\($0.waiting) \($0.reason)\($0.key.map { " of \($0)" } ?? "")") }
            .joined(separator: ", ")
    }
}
