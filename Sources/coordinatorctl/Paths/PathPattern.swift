import Control

/// A path in which `*` stands for any part of a name, `?` for one character, and the name `**` for any number of names.
struct PathPattern {
    private let components: [Substring]

    /// Whether the text has one of the signs, which no coordinator's name has.
    static func isPattern(_ text: String) -> Bool { text.contains("*") || text.contains("?") }

    init(_ text: String) { components = text.split(separator: "/") }

    /// Whether the path is one of those that are meant; `**` at the end stands for one name at least.
    func matches(_ path: String) -> Bool { Self.matches(components[...], path.split(separator: "/")[...]) }

    private static func matches(_ pattern: ArraySlice<Substring>, _ path: ArraySlice<Substring>) -> Bool {
        guard let first = pattern.first else { return path.isEmpty }
        let rest = pattern.dropFirst()
        if first == "**" {
            if rest.isEmpty { return !path.isEmpty }
            return path.indices.contains { matches(rest, path[$0...]) }
        }
        guard let name = path.first, nameMatches(Array(first)[...], Array(name)[...]) else { return false }
        return matches(rest, path.dropFirst())
    }

    private static func nameMatches(_ pattern: ArraySlice<Character>, _ name: ArraySlice<Character>) -> Bool {
        var (pattern, name) = (pattern, name)
        // The last star, and the rest of the name that it was tried with: earlier stars need no other try.
        var retry: (pattern: ArraySlice<Character>, name: ArraySlice<Character>)?
        while !name.isEmpty {
            if let sign = pattern.first, sign == "?" || (sign != "*" && sign == name.first) {
                (pattern, name) = (pattern.dropFirst(), name.dropFirst())
            } else if pattern.first == "*" {
                pattern = pattern.dropFirst()
                retry = (pattern, name)
            } else if let (after, tried) = retry {
                (pattern, name) = (after, tried.dropFirst())
                retry = (after, name)
            } else {
                return false
            }
        }
        return pattern.allSatisfy { $0 == "*" }
    }
}

extension TreeNode {
    /// The node and its descendants, parents before children.
    var subtree: [TreeNode] { [self] + children.flatMap(\.subtree) }
}
