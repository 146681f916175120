extension ConfigurationReader {
    /// A name in `after` or `requires`, and its place in the file.
    struct SiblingName {
        let name: String
        /// The key in whose list the name stands.
        let list: String
        let mark: Mark
    }

    /// The children of one supervisor, as far as they have been read.
    struct Siblings {
        private(set) var children: [ConfiguredChild] = []
        /// The names that each child's lists have, by the child's key.
        fileprivate private(set) var names: [(key: String, names: [SiblingName])] = []
        /// The lines at which keys are taken, those of instances included.
        fileprivate var lines: [String: Int] = [:]
        /// The lines at which beginnings of messages' names are taken.
        var receivers: [String: Int] = [:]
        /// The keys as they are written.
        fileprivate var keys: [String] = []
        /// Whether every child's key could be read.
        var isComplete = true

        mutating func add(_ child: ConfiguredChild, _ names: [SiblingName]) {
            children.append(child)
            if !names.isEmpty { self.names.append((child.key, names)) }
        }
    }

    /// Takes a child's key, and those of its instances; reports one that is taken.
    mutating func register(_ key: String, _ node: YAMLNode, _ instances: Int?, _ siblings: inout Siblings) {
        siblings.keys.append(key)
        let line = node.mark.line
        var taken = instances.map { count in (0..<count).map { "\(key)-\($0 + 1)" } } ?? []
        taken.insert(key, at: 0)
        for taken in taken {
            guard let first = siblings.lines.updateValue(line, forKey: taken) else { continue }
            report(at: node.mark, "the key `\(taken)` is taken by the child at line \(first); expected each child to have its own")
            break
        }
    }

    /// Reads a list of siblings' keys.
    mutating func names(_ fields: Fields, _ list: String) -> [SiblingName] {
        guard let node = fields[list] else { return [] }
        let expected = "a list of siblings' keys, such as [database]"
        guard let nodes = self.list(node, "`\(list)`", expected: expected) else { return [] }
        return nodes.compactMap { node in
            text(node, "a name in `\(list)`", expected: "a sibling's key").map { SiblingName(name: $0, list: list, mark: node.mark) }
        }
    }

    /// Reports names that no sibling has, and children that are started after one another in a circle.
    mutating func checkDependencies(of siblings: Siblings) {
        // A name may be that of a child whose key couldn't be read.
        guard siblings.isComplete, !siblings.names.isEmpty else { return }
        let known = Set(siblings.keys)
        for (key, names) in siblings.names {
            for name in names where !known.contains(name.name) {
                let others = siblings.keys.filter { $0 != key }
                let hint = others.isEmpty ? "it has no sibling" : Spelling.hint(for: name.name, among: Array(others.prefix(20)))
                report(at: name.mark, "`\(name.list)` of `\(key)` names `\(name.name)`, which is the key of no sibling; \(hint)")
            }
        }
        let placed = Set(siblings.children.filter { $0.placement != nil }.map(\.key))
        for (key, names) in siblings.names {
            for name in names where placed.contains(key) || placed.contains(name.name) {
                report(
                    at: name.mark,
                    "`\(name.list)` of `\(key)` names `\(name.name)`, and one of them has `placement`; expected no order with what other nodes may run"
                )
            }
        }
        guard let cycle = SiblingDependencies(of: siblings.children).cycle,
            let place = siblings.names.filter({ $0.key == cycle[0] }).flatMap(\.names).first(where: { $0.name == cycle[1] })?.mark
        else { return }
        let circle = cycle.map { "`\($0)`" }.joined(separator: " after ")
        report(at: place, "children would be started after one another in a circle: \(circle); expected an order in which they can start")
    }
}
