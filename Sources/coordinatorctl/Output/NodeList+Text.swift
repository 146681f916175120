import Control

extension NodeList {
    /// A line for each node, and one for the subtrees that have none.
    var text: String {
        var rows = [["NODE", "ROLE", "STATE", "LABELS", "SUBTREES"]]
        for node in nodes {
            let labels = node.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
            rows.append([
                TextLayout.printable(node.name) + (node.isSelf ? " (this one)" : ""), node.leads ? "leader" : "",
                node.drains ? "draining" : "ready", TextLayout.printable(labels),
                TextLayout.printable(node.subtrees.joined(separator: " ")),
            ])
        }
        var text = TextLayout.table(rows, [.left, .left, .left, .left, .left])
        if !homeless.isEmpty { text += "on no node: \(TextLayout.printable(homeless.joined(separator: " ")))\n" }
        if let unreadable {
            text += "ignored, because they can't be read: \(TextLayout.printable(unreadable.joined(separator: " ")))\n"
        }
        if membership != "member" { text += "this daemon's membership: \(membership)\n" }
        return text
    }
}

extension Whereabouts {
    /// A line such as `/shop: on node-b, epoch 17`.
    var text: String {
        var parts: [String] = [node.map { "on \($0)" } ?? "on no node"]
        if let epoch { parts.append("epoch \(epoch)") }
        if let assigned, assigned != node { parts.append("moves to \(assigned)") }
        if let pinned { parts.append("pinned to \(pinned)") }
        if !failedOn.isEmpty { parts.append("failed on \(failedOn.joined(separator: " "))") }
        if isGivenUp { parts.append("given up") }
        return "\(TextLayout.printable(path)): \(TextLayout.printable(parts.joined(separator: ", ")))\n"
    }
}
