import WireProtocol

/// A path that a child names in `after` or `requires`.
struct NamedPath {
    let name: String
    /// `after` or `requires`.
    let list: String
    let child: ConfiguredChild
    /// The path of the child's supervisor; empty for the root.
    let parent: String
    let mark: Mark

    var path: String { "\(parent)/\(child.key)" }
}

extension ConfigurationReader {
    /// Reports paths that no child has, conditions that the children at them can't meet, and subtrees that wait for one another in a circle.
    mutating func checkPaths(in children: [ConfiguredChild]) {
        // A path may be that of a child that couldn't be read.
        guard !pathsNamed.isEmpty, problems.isEmpty else { return }
        for named in pathsNamed {
            let what = "`\(named.list)` of `\(named.path)` names `\(named.name)`"
            guard let other = children.child(at: named.name) else {
                let hint = Spelling.hint(for: named.name, among: Array(children.paths(under: "").filter { $0 != named.path }.prefix(20)))
                report(at: named.mark, "\(what), which is the path of no child; \(hint)")
                continue
            }
            if "\(named.path)/".hasPrefix("\(named.name)/") {
                report(at: named.mark, "\(what), which is the child itself, or a group that it is in; expected another child")
            }
            let top = String(named.name.dropFirst().prefix { $0 != "/" })
            let own = String(named.path.dropFirst().prefix { $0 != "/" })
            if [top, own].contains(where: { key in children.first { $0.key == key }?.placement != nil }) {
                report(at: named.mark, "\(what), and one of them has `placement`; expected no order with what other nodes may run")
            }
            check(
                named.child.conditions[named.name],
                on: other,
                at: named.mark,
                "`\(named.list)` of `\(named.path)` waits for `\(named.name)`"
            )
        }
        if problems.isEmpty { checkCircles(children, under: "") }
    }

    private mutating func checkCircles(_ children: [ConfiguredChild], under parent: String) {
        if let cycle = SiblingDependencies(of: children, under: parent).cycle {
            let circle = cycle.map { "`\(parent)/\($0)`" }
            let isPart = { (named: NamedPath) in
                zip(circle, circle.dropFirst()).contains { from, to in
                    "`\(named.path)/".hasPrefix(from.dropLast() + "/") && "`\(named.name)/".hasPrefix(to.dropLast() + "/")
                }
            }
            guard let named = pathsNamed.first(where: isPart) else { return }
            let text = circle.joined(separator: " after ")
            report(
                at: named.mark,
                "children, or some of those below them, would be started after one another in a circle: \(text); expected an order in which they can start and end"
            )
            return
        }
        for child in children {
            if case .group(let group) = child.content { checkCircles(group.children, under: "\(parent)/\(child.key)") }
        }
    }
}

extension [ConfiguredChild] {
    /// Returns the child that the file has at a path, which may be that of an instance.
    fileprivate func child(at path: String) -> ConfiguredChild? {
        let keys = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        var (children, found): ([ConfiguredChild], ConfiguredChild?) = (self, nil)
        for key in keys {
            found = children.first { $0.key == key || $0.instanceKeys.contains(key) }
            guard let found else { return nil }
            if case .group(let group) = found.content { children = group.children } else { children = [] }
        }
        return found
    }

    /// The paths of all children, those in groups included.
    fileprivate func paths(under parent: String) -> [String] {
        flatMap { child -> [String] in
            let path = "\(parent)/\(child.key)"
            guard case .group(let group) = child.content else { return [path] }
            return [path] + group.children.paths(under: path)
        }
    }
}
