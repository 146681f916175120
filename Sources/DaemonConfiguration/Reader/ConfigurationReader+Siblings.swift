import WireProtocol

extension ConfigurationReader {
    /// Reports keys that are taken, beginnings of messages' names that two children have, names that no sibling has, and children that are
    /// started after one another in a circle.
    ///
    /// - Parameter isComplete: Whether every child's key could be read.
    mutating func checkSiblings(_ siblings: [(child: ConfiguredChild, fields: Fields)], isComplete: Bool) {
        var (keys, receivers): ([String: Mark], [String: Mark]) = ([:], [:])
        for (child, fields) in siblings {
            if let node = fields["name"], !child.key.isEmpty {
                let taken = [child.key] + (child.instances == nil ? [] : child.instanceKeys)
                // All are taken; the first one that was is enough to say.
                let former = taken.compactMap { key in keys.updateValue(node.mark, forKey: key).map { (key, $0) } }
                if let (key, mark) = former.first {
                    let child = "the child at \(mark.line(seenFrom: node.mark))"
                    report(at: node.mark, "the name `\(key)` is taken by \(child); expected each child to have its own")
                }
            }
            for node in fields["receives"]?.elements ?? [] {
                guard let prefix = node.text, child.receives.contains(prefix) else { continue }
                guard let mark = receivers.updateValue(node.mark, forKey: prefix) else { continue }
                let place = mark.line(seenFrom: node.mark)
                report(at: node.mark, "`receives` has `\(prefix)`, as it does at \(place); expected each beginning once in the file")
            }
        }
        // A name may be that of a child whose key couldn't be read.
        if isComplete { checkDependencies(siblings) }
    }

    private mutating func checkDependencies(_ siblings: [(child: ConfiguredChild, fields: Fields)]) {
        let keys = siblings.map(\.child.key)
        let known = Dictionary(siblings.map { ($0.child.key, $0.child) }) { first, _ in first }
        let placed = Set(siblings.filter { $0.child.placement != nil }.map(\.child.key))
        var marks: [String: [String: Mark]] = [:]
        for (child, fields) in siblings {
            for list in ["after", "requires"] {
                for node in fields[list]?.namedNodes ?? [] {
                    guard let name = node.text, (child.after + child.requires).contains(name) else { continue }
                    if placed.contains(child.key) || placed.contains(name) {
                        let names = "`\(list)` of `\(child.key)` names `\(name)`, and one of them has `placement`"
                        report(at: node.mark, "\(names); expected no order with what other nodes may run")
                    }
                    if name.hasPrefix("/") {
                        pathsNamed.append(NamedPath(name: name, list: list, child: child, parent: scope.path, mark: node.mark))
                        continue
                    }
                    if marks[child.key]?[name] == nil { marks[child.key, default: [:]][name] = node.mark }
                    if let other = known[name] {
                        check(child.conditions[name], on: other, at: node.mark, "`\(list)` of `\(child.key)` waits for `\(name)`")
                    } else {
                        let others = keys.filter { $0 != child.key }
                        let hint = others.isEmpty ? "it has no sibling" : Spelling.hint(for: name, among: Array(others.prefix(20)))
                        report(at: node.mark, "`\(list)` of `\(child.key)` names `\(name)`, which is the name of no sibling; \(hint)")
                    }
                }
            }
        }
        let children = siblings.map(\.child)
        // Those in which paths take part are looked for in the whole file.
        guard !marks.isEmpty, let cycle = SiblingDependencies(of: children).cycle, let mark = marks[cycle[0]]?[cycle[1]] else {
            return
        }
        let circle = cycle.map { "`\($0)`" }.joined(separator: " after ")
        report(at: mark, "children would be started after one another in a circle: \(circle); expected an order in which they can start")
    }

    /// Reports a condition that the other child can't meet.
    mutating func check(_ condition: DependencyCondition?, on other: ConfiguredChild, at mark: Mark, _ wait: String) {
        guard let condition, !other.possibleConditions.contains(condition) else { return }
        let remedy =
            switch condition {
            case .ready: "which runs to its end; expected `completed`"
            case .healthy:
                "which has no `health` that could be checked; expected `health` there, or `\(other.possibleConditions[0].rawValue)`"
            case .completed: "which doesn't run to its end; expected a `oneshot`, or `ready`"
            }
        report(at: mark, "\(wait) to be `\(condition.rawValue)`, \(remedy)")
    }
}

extension YAMLNode {
    /// The names of a list of them, or of a mapping.
    fileprivate var namedNodes: [YAMLNode] {
        switch content {
        case .sequence(let nodes): nodes
        case .mapping(let pairs): pairs.map(\.key)
        case .scalar: []
        }
    }
}
