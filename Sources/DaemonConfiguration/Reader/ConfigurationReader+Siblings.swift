extension ConfigurationReader {
    /// Reports keys that are taken, beginnings of messages' names that two children have, names that no sibling has, and children that are
    /// started after one another in a circle.
    ///
    /// - Parameter isComplete: Whether every child's key could be read.
    mutating func checkSiblings(_ siblings: [(child: ConfiguredChild, fields: Fields)], isComplete: Bool) {
        var (keys, receivers): ([String: Int], [String: Int]) = ([:], [:])
        for (child, fields) in siblings {
            if let node = fields["key"], !child.key.isEmpty {
                let taken = [child.key] + (child.instances == nil ? [] : child.instanceKeys)
                // All are taken; the first one that was is enough to say.
                let former = taken.compactMap { key in keys.updateValue(node.mark.line, forKey: key).map { (key, $0) } }
                if let (key, line) = former.first {
                    report(at: node.mark, "the key `\(key)` is taken by the child at line \(line); expected each child to have its own")
                }
            }
            for node in fields["receives"]?.elements ?? [] {
                guard let prefix = node.text, child.receives.contains(prefix) else { continue }
                guard let line = receivers.updateValue(node.mark.line, forKey: prefix) else { continue }
                report(at: node.mark, "`receives` has `\(prefix)`, as it does at line \(line); expected each beginning once in the file")
            }
        }
        // A name may be that of a child whose key couldn't be read.
        if isComplete { checkDependencies(siblings) }
    }

    private mutating func checkDependencies(_ siblings: [(child: ConfiguredChild, fields: Fields)]) {
        let keys = siblings.map(\.child.key)
        let known = Set(keys)
        let placed = Set(siblings.filter { $0.child.placement != nil }.map(\.child.key))
        var marks: [String: [String: Mark]] = [:]
        for (child, fields) in siblings {
            for list in ["after", "requires"] {
                for node in fields[list]?.elements ?? [] {
                    guard let name = node.text, (child.after + child.requires).contains(name) else { continue }
                    if marks[child.key]?[name] == nil { marks[child.key, default: [:]][name] = node.mark }
                    if !known.contains(name) {
                        let others = keys.filter { $0 != child.key }
                        let hint = others.isEmpty ? "it has no sibling" : Spelling.hint(for: name, among: Array(others.prefix(20)))
                        report(at: node.mark, "`\(list)` of `\(child.key)` names `\(name)`, which is the key of no sibling; \(hint)")
                    }
                    if placed.contains(child.key) || placed.contains(name) {
                        let names = "`\(list)` of `\(child.key)` names `\(name)`, and one of them has `placement`"
                        report(at: node.mark, "\(names); expected no order with what other nodes may run")
                    }
                }
            }
        }
        guard !marks.isEmpty, let cycle = SiblingDependencies(of: siblings.map(\.child)).cycle, let mark = marks[cycle[0]]?[cycle[1]] else {
            return
        }
        let circle = cycle.map { "`\($0)`" }.joined(separator: " after ")
        report(at: mark, "children would be started after one another in a circle: \(circle); expected an order in which they can start")
    }
}
