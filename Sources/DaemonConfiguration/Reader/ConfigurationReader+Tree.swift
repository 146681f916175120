import Yams

extension ConfigurationReader {
    /// How many values a file of this size may have.
    ///
    /// An alias is written in a few bytes and may stand for a large tree, and that tree may be full of aliases again. What is written
    /// out has fewer values than two for each byte, and is never refused: its size is bounded by the file's.
    private static func maximumNodes(_ size: Int) -> Int { max(100_000, 2 * size) }

    /// What holds for every node: no tags of one's own, no merge keys, no NUL (paths, arguments and variables end at one), a bounded size.
    ///
    /// - Parameter size: the file's, in bytes.
    /// - Returns: false when the tree is too large to be read any further.
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
