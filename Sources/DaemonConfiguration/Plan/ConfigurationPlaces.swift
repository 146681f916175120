/// The places of the children and keys of a file, and of those that it includes.
package struct ConfigurationPlaces: Sendable {
    /// A place: the file, as it was named, and the line and the column, from 1.
    package struct Place: Hashable, Sendable {
        package var file: String
        package var line: Int
        package var column: Int
    }

    private let file: String
    private let root: YAMLNode?

    /// - Parameter root: The tree of the file, with what it includes.
    init(file: String, root: YAMLNode?) { (self.file, self.root) = (file, root) }

    /// Returns the place of a key, or else of the innermost mapping around it that is there.
    ///
    /// - Parameters:
    ///   - path: The path of a child, also of an instance; `/` for the file itself.
    ///   - key: The key after those of the mappings around it, with a period between two; nil: the child itself is meant.
    /// - Returns: nil when the file has no such child.
    package func place(of key: String? = nil, at path: String) -> Place? {
        guard var node = root else { return nil }
        for name in path.split(separator: "/") {
            guard let child = Self.child(String(name), in: node) else { return nil }
            node = child
        }
        var mark = node.mark
        for name in key?.split(separator: ".") ?? [] {
            guard case .mapping(let pairs) = node.content, let pair = pairs.first(where: { $0.key.text == String(name) }) else { break }
            (mark, node) = (pair.key.mark, pair.value)
        }
        return Place(file: mark.file ?? file, line: mark.line, column: mark.column)
    }

    private static func child(_ name: String, in node: YAMLNode) -> YAMLNode? {
        let children = node["children"]?.elements ?? []
        if let child = children.first(where: { $0["name"]?.text == name }) { return child }
        // An instance has the name of its child, and a number.
        return children.first { child in
            guard let base = child["name"]?.text, child["instances"] != nil, name.hasPrefix(base + "-") else { return false }
            return name.dropFirst(base.count + 1).allSatisfy(\.isNumber)
        }
    }
}
