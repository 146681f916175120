import Yams

extension ConfigurationReader {
    /// Returns the largest number of values that a file of this size may have.
    ///
    /// An alias takes a few bytes and may stand for a large tree, which may contain aliases again. A file without aliases has fewer than two
    /// values for each byte and is never refused.
    private static func maximumNodes(_ size: Int) -> Int { max(100_000, 2 * size) }

    /// Checks every node: there are no custom tags, no merge keys and no NUL, at which paths, arguments and variables would end.
    ///
    /// - Parameter size: the size of the file in bytes.
    /// - Returns: false when the tree has too many values to be read.
    mutating func checkTree(_ root: Node, size: Int) -> Bool {
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

    private mutating func check(_ node: Node, _ budget: inout Int) -> Bool {
        budget -= 1
        guard budget >= 0 else { return false }
        switch node {
        case .scalar(let scalar):
            checkTag(scalar.tag, at: node.mark)
            if scalar.string.utf8.contains(0) {
                report(at: node.mark, "the text contains NUL; expected a text without `\\0`")
            }
        case .sequence(let sequence):
            checkTag(sequence.tag, at: node.mark)
            for element in sequence {
                guard check(element, &budget) else { return false }
            }
        case .mapping(let mapping):
            checkTag(mapping.tag, at: node.mark)
            for (key, value) in mapping {
                if let scalar = key.scalar, scalar.style == .plain, scalar.string == "<<" {
                    report(at: key.mark, "merge keys (`<<`) aren't supported; expected the values to be written out, or an alias")
                }
                guard check(key, &budget), check(value, &budget) else { return false }
            }
        case .alias: break
        }
        return true
    }

    private mutating func checkTag(_ tag: Tag, at mark: Mark?) {
        let name = tag.rawValue
        let standard = "tag:yaml.org,2002:"
        let known = ["str", "int", "float", "bool", "null", "seq", "map"].map { standard + $0 }
        guard !name.isEmpty, name != "!", !known.contains(name) else { return }
        let shown = name.hasPrefix(standard) ? "!!" + name.dropFirst(standard.count) : name
        report(at: mark, "the tag `\(shown)` isn't supported; expected plain YAML")
    }
}
