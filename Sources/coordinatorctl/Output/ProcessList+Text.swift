import Control

extension ProcessList {
    /// The processes as a table, each line ended by a newline.
    var text: String { text(.off) }

    /// The same with states in their colours.
    func text(_ colours: Colours) -> String {
        // The number of a process says nothing without its machine.
        let hasNodes = processes.contains { $0.node != nil } || missing != nil
        let hasMemory = processes.contains { $0.memoryBytes != nil }
        let rows = processes.map { entry -> [String] in
            let state = entry.stoppingMilliseconds.map { entry.state.text(stoppingFor: $0) } ?? entry.state
            return (hasNodes ? [TextLayout.printable(entry.node ?? "")] : []) + [
                "\(entry.pid)", TextLayout.printable(entry.path), colours.text(TextLayout.printable(state), in: entry.state),
                "\(entry.incarnation)",
                "\(entry.restarts)", Duration.milliseconds(entry.uptimeMilliseconds).briefText,
            ]
                + (hasMemory ? [entry.processCount.map { "\($0)" } ?? "-", entry.memoryBytes.map { "\($0 >> 20) MiB" } ?? "-"] : [])
        }
        let header =
            (hasNodes ? ["NODE"] : []) + ["PID", "PATH", "STATE", "LIFE", "RESTARTS", "UPTIME"]
            + (hasMemory ? ["PROCESSES", "MEMORY"] : [])
        let columns: [TextLayout.Alignment] = [.right, .left, .left, .right, .right, .right] + (hasMemory ? [.right, .right] : [])
        let table = TextLayout.table([header] + rows, (hasNodes ? [.left] : []) + columns, yielding: hasNodes ? 2 : 1)
        return table
            + (missing ?? []).map { missing in
                "\(TextLayout.printable(missing.node)): its processes are missing: \(TextLayout.printable(missing.reason))\n"
            }.joined()
    }
}
