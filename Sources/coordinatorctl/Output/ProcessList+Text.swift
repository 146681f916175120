import Control

extension ProcessList {
    /// The processes as a table, each line ended by a newline.
    var text: String { text(.off) }

    /// The same with states in their colours.
    func text(_ colours: Colours) -> String {
        let rows = processes.map { entry -> [String] in
            let state = entry.stoppingMilliseconds.map { entry.state.text(stoppingFor: $0) } ?? entry.state
            return [
                "\(entry.pid)", TextLayout.printable(entry.path), colours.text(TextLayout.printable(state), in: entry.state),
                "\(entry.incarnation)",
                "\(entry.restarts)", Duration.milliseconds(entry.uptimeMilliseconds).briefText,
            ]
        }
        let header = ["PID", "PATH", "STATE", "LIFE", "RESTARTS", "UPTIME"]
        return TextLayout.table([header] + rows, [.right, .left, .left, .right, .right, .right])
    }
}
