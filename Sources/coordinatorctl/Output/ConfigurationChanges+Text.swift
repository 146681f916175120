import Control

extension ConfigurationChanges {
    /// The differences as lines that begin with `+`, `-` or `~`, each with the values of its keys below it, and a line that counts them.
    var text: String {
        let lines =
            changes.flatMap { [$0.line] + $0.valueLines } + reordered.map { "~ \(TextLayout.printable($0)): the order of its children" }
        if lines.isEmpty { return "nothing to change: \(children(unchanged))\n" }
        return lines.map { $0 + "\n" }.joined() + summary + "\n"
    }

    private var summary: String {
        let effects = [("start", "started"), ("stop", "stopped"), ("restart", "restarted"), ("take_over", "changed without a restart")]
        let counts = effects.compactMap { effect, word -> String? in
            let count = changes.count { $0.effect == effect && $0.error == nil && $0.pending == nil }
            return count == 0 ? nil : "\(count) \(isApplied ? word : "to be \(word)")"
        }
        let failed = failureCount == 0 ? [] : ["\(failureCount) failed"]
        let pending = pendingCount == 0 ? [] : ["\(pendingCount) going on"]
        return (counts + failed + pending + ["\(unchanged) unchanged"]).joined(separator: ", ")
    }

    private func children(_ count: Int) -> String { count == 1 ? "1 child is as the file says" : "\(count) children are as the file says" }
}

extension ConfigurationChanges.Change {
    /// The difference as a line that begins with `+`, `-` or `~`.
    var line: String {
        let sign = ["added": "+", "removed": "-"][kind] ?? "~"
        let keys = keys.isEmpty ? "" : ": " + keys.joined(separator: ", ")
        let outcome = error.map { "failed: \($0)" } ?? pending.map { "goes on: \($0)" }
        return TextLayout.printable("\(sign) \(path)\(keys)\(note)\(outcome.map { ": \($0)" } ?? "")")
    }

    /// The keys with their former values and those that follow, a line each, or else the child's place in the file.
    fileprivate var valueLines: [String] {
        guard let values else { return place.map { ["    " + TextLayout.printable($0.text)] } ?? [] }
        return values.map { value in
            let change = value.from == value.to ? "another value" : "\(value.from ?? "none") → \(value.to ?? "none")"
            return "    " + TextLayout.printable("\(value.key): \(change)\(value.place.map { "  \($0.text)" } ?? "")")
        }
    }

    private var note: String {
        switch effect {
        case "restart": cause.map { " (restart, because it requires \($0))" } ?? " (restart)"
        case "start": cause.map { " (a restart if it runs, because it requires \($0))" } ?? ""
        case "take_over": " (no restart)"
        case "next_daemon": " (with an upgrade or the next start of the daemon)"
        case "none": " (not started: autostart is false)"
        case "placed": " (the cluster starts it on the node that it chooses)"
        case "scheduled": " (starts at its times)"
        default: ""
        }
    }
}

extension ConfigurationChanges.Place {
    /// The end of a line about what is at the place, in the form that editors find.
    fileprivate var text: String { "at \(file):\(line):\(column)" }
}
