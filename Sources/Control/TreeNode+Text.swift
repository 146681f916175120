extension TreeNode {
    /// The tree as an operator sees it, drawn with box characters, a line a node, each line ended.
    public var text: String {
        var rows: [[String]] = [["NAME", "STATE", "PID", "LIFE", "RESTARTS", "UPTIME", "TYPE", "LAST EXIT"]]
        appendRows(to: &rows, first: "", rest: "")
        if rows.dropFirst().allSatisfy({ $0.last == "" }) {
            rows = rows.map { $0.dropLast() }
        }
        return TextLayout.table(rows, [.left, .left, .right, .right, .right, .right, .left, .left].prefix(rows[0].count).map(\.self))
    }

    private func appendRows(to rows: inout [[String]], first: String, rest: String) {
        rows.append([
            first + TextLayout.printable(key), TextLayout.printable(state), pid.map(String.init) ?? "-", "\(incarnation)", "\(restarts)",
            isRunning ? TextLayout.time(milliseconds: uptimeMilliseconds) : "-", TextLayout.printable(type),
            TextLayout.printable(lastExit ?? ""),
        ])
        for (index, child) in children.enumerated() {
            let isLast = index == children.count - 1
            child.appendRows(to: &rows, first: rest + (isLast ? "└─ " : "├─ "), rest: rest + (isLast ? "   " : "│  "))
        }
    }

    /// Everything about this one place, a line a fact, then what is below it.
    public var details: String {
        var facts: [[String]] = [
            ["path", path], ["type", type], ["kind", kind.rawValue], ["state", state], ["placement", placement.rawValue],
            ["pid", pid.map(String.init) ?? "-"], ["incarnation", "\(incarnation)"], ["restarts", "\(restarts)"],
            ["uptime", isRunning ? TextLayout.time(milliseconds: uptimeMilliseconds) : "-"],
        ]
        if let executable { facts.append(["executable", executable]) }
        if let lastExit { facts.append(["last exit", lastExit]) }
        let table = TextLayout.table(facts.map { [$0[0] + ":", TextLayout.printable($0[1])] }, [.left, .left])
        return children.isEmpty ? table : table + "\n" + text
    }
}
