extension ConfigurationReader {
    /// Returns the largest number of values that a file of this size may have.
    ///
    /// An alias takes a few bytes and may stand for a large tree, which may contain aliases again. A file without aliases has fewer than two
    /// values for each byte and is never refused.
    static func maximumNodes(_ size: Int) -> Int { max(100_000, 2 * size) }

    /// Checks every node: there are no custom tags, no merge keys and no NUL, at which paths, arguments and variables would end.
    ///
    /// - Parameter size: the size of the file in bytes.
    /// - Returns: false when the tree has too many values to be read.
    mutating func checkTree(_ root: YAMLNode, size: Int) -> Bool {
        let maximum = Self.maximumNodes(size)
        var budget = maximum
        guard check(root, &budget) else {
            report(
                at: root.mark,
                "the file has more than \(maximum) values (an alias counts as all that it stands for); expected fewer or smaller aliases"
            )
            return false
        }
        return true
    }

    private mutating func check(_ node: YAMLNode, _ budget: inout Int) -> Bool {
        budget -= 1
        guard budget >= 0 else { return false }
        checkTag(of: node)
        switch node.content {
        case .scalar(let text, _):
            if text.utf8.contains(0) {
                report(at: node.mark, "the text contains NUL; expected a text without `\\0`")
            }
        case .sequence(let nodes):
            for element in nodes {
                guard check(element, &budget) else { return false }
            }
        case .mapping(let pairs):
            for (key, value) in pairs {
                if case .scalar("<<", isPlain: true) = key.content {
                    report(at: key.mark, "merge keys (`<<`) aren't supported; expected the values to be written out, or an alias")
                }
                guard check(key, &budget), check(value, &budget) else { return false }
            }
        }
        return true
    }

    private mutating func checkTag(of node: YAMLNode) {
        let standard = "tag:yaml.org,2002:"
        let known = ["str", "int", "float", "bool", "null", "seq", "map"].map { standard + $0 }
        guard let name = node.tag, !name.isEmpty, name != "!", !known.contains(name) else { return }
        let shown = name.hasPrefix(standard) ? "!!" + name.dropFirst(standard.count) : name
        report(at: node.mark, "the tag `\(shown)` isn't supported; expected plain YAML")
    }
}
