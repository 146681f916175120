import Control

extension NodeList {
    /// A line for each node, and lines for the subtrees that aren't where they're wanted; before them, whether that is true at present.
    var text: String {
        var rows = [["NODE", "ROLE", "STATE", "LABELS", "SUBTREES"]]
        for node in nodes {
            let labels = node.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
            let state = node.drains ? "draining" : "ready"
            rows.append([
                TextLayout.printable(node.name) + (node.isSelf ? " (this one)" : ""), node.leads ? "leader" : "",
                outdated == nil ? state : "was \(state)", TextLayout.printable(labels),
                TextLayout.printable(node.subtrees.joined(separator: " ")),
            ])
        }
        var lines: [String] = []
        let (stuck, lost) = ((leaving ?? []).filter { $0.blocked != nil }, homeless.filter { unplaced?[$0] != nil })
        let moving = (leaving ?? []).filter { $0.blocked == nil }.map(\.path)
        let coming = homeless.filter { unplaced?[$0] == nil }
        if !coming.isEmpty { lines.append("on no node: \(coming.joined(separator: " "))") }
        lines += lost.map { "on no node: \($0): \(unplaced?[$0] ?? "")" }
        if !moving.isEmpty { lines.append("hasn't left yet: \(moving.joined(separator: " "))") }
        lines += stuck.map { "can't leave \($0.node): \($0.path): \($0.blocked ?? "")" }
        if let stopped { lines.append("stopped on all nodes: \(stopped.joined(separator: " "))") }
        if let unreadable { lines.append("ignored, because they can't be read: \(unreadable.joined(separator: " "))") }
        let warning = outdated.map { TextLayout.printable("\($0). What follows was seen last, and may not be true any more.") + "\n" }
        // A former version of the daemon tells no more than that.
        let note = membership == "member" ? "" : "this daemon's membership: \(TextLayout.printable(membership))\n"
        return (warning ?? note) + TextLayout.table(rows, [.left, .left, .left, .left, .left])
            + lines.map { TextLayout.printable($0) + "\n" }.joined()
    }

    /// Leaves out what is about other nodes.
    mutating func narrow(to node: String) {
        nodes.removeAll { $0.name != node }
        let own = (leaving ?? []).filter { $0.node == node }
        leaving = own.isEmpty ? nil : own
    }
}

extension SubtreeLocation {
    /// A line such as `/shop: on node-b, epoch 17`.
    var text: String {
        var parts: [String] = [node.map { "on \($0)" } ?? "on no node"]
        if let epoch { parts.append("epoch \(epoch)") }
        if isStopped == true { parts.append("stopped on all nodes until it's started") }
        if let assigned, assigned != node { parts.append("moves to \(assigned)") }
        if let pinned { parts.append("pinned to \(pinned)") }
        if !failedOn.isEmpty {
            let names = failedOn.map { name in failures?[name].map { "\(name) (\($0))" } ?? name }
            parts.append("failed on \(names.joined(separator: " "))")
        }
        if isGivenUp { parts.append("given up") }
        var line = parts.joined(separator: ", ")
        if let blocked {
            let effect =
                switch (node, pinned) {
                case (nil, _): "no node may have it"
                case (let node?, let pinned?) where pinned != node: "it doesn't move to \(pinned)"
                case (let node?, _): "it can't leave \(node)"
                }
            line += "; \(effect): \(blocked)"
        }
        if let outdated { line = "\(outdated). Seen last: \(line)" }
        return TextLayout.printable("\(path): \(line)") + "\n"
    }
}
