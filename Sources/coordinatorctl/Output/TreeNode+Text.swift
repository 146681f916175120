import Control

extension TreeNode {
    /// The tree drawn with box characters, one line for each node, each ended by a newline.
    var text: String {
        var rows: [[String]] = [["NAME", "STATE", "PID", "LIFE", "RESTARTS", "UPTIME", "WAITING", "TYPE", "LAST EXIT"]]
        appendRows(to: &rows, first: "", rest: "")
        var columns: [TextLayout.Alignment] = [.left, .left, .right, .right, .right, .right, .right, .left, .left]
        // Columns in which nothing stands are left out.
        for column in columns.indices.reversed() where rows.dropFirst().allSatisfy({ $0[column].isEmpty }) {
            columns.remove(at: column)
            rows = rows.map { $0.enumerated().filter { $0.offset != column }.map(\.element) }
        }
        return TextLayout.table(rows, columns)
    }

    private func appendRows(to rows: inout [[String]], first: String, rest: String) {
        rows.append([
            first + TextLayout.printable(key), TextLayout.printable(stateText), pid.map(String.init) ?? "-", "\(incarnation)",
            "\(restarts)", uptimeText, waitingText, TextLayout.printable(type), TextLayout.printable(lastExit ?? ""),
        ])
        for (index, child) in children.enumerated() {
            let isLast = index == children.count - 1
            child.appendRows(to: &rows, first: rest + (isLast ? "└─ " : "├─ "), rest: rest + (isLast ? "   " : "│  "))
        }
    }

    /// The state; of a node that waits for its next start, with the number of the attempt and the remaining time.
    private var stateText: String {
        guard let nextStartMilliseconds else { return state }
        let attempt = restartAttempt.map { " \($0)" } ?? ""
        return "\(state)\(attempt) in \(Duration.milliseconds(nextStartMilliseconds).briefText)"
    }

    /// The time since the node became active; a dash when it isn't up.
    private var uptimeText: String {
        ["inactive", "failed", "starting", "restarting"].contains(state) ? "-" : Duration.milliseconds(uptimeMilliseconds).briefText
    }

    /// The number of waiting messages, and the time for which the oldest has waited; nothing when none waits.
    private var waitingText: String {
        guard let mailbox, mailbox.waiting > 0 else { return "" }
        let age = mailbox.oldestWaitingMilliseconds.map { " for \(Duration.milliseconds($0).briefText)" } ?? ""
        return "\(mailbox.waiting)\(age)"
    }

    /// All facts about this node, one a line, then its descendants.
    var details: String {
        var facts: [[String]] = [
            ["path", path], ["type", type], ["kind", kind.rawValue], ["state", stateText], ["placement", placement.rawValue],
            ["pid", pid.map(String.init) ?? "-"], ["incarnation", "\(incarnation)"], ["restarts", "\(restarts)"],
            ["uptime", uptimeText],
        ]
        if let mailbox {
            facts += [
                ["waiting", waitingText.isEmpty ? "0" : waitingText], ["running", "\(mailbox.running)"], ["handled", "\(mailbox.handled)"],
            ]
        }
        if let lastExit { facts.append(["last exit", lastExit]) }
        let table = TextLayout.table(facts.map { [$0[0] + ":", TextLayout.printable($0[1])] }, [.left, .left])
        return children.isEmpty ? table : table + "\n" + text
    }
}
