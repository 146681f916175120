import ArgumentParser
import Control
import Processes

/// The paths that a command is about: several, patterns among them, or all children of the root.
struct PathArguments: ParsableArguments {
    @Argument(help: .paths, completion: .livePaths)
    var paths: [String] = []

    @Flag(help: "Name all children of the root: the same as '/*'.")
    var all = false

    func validate() throws {
        if paths.isEmpty, !all { throw ValidationError("Missing expected argument '<path> ...'") }
        if !paths.isEmpty, all { throw ValidationError("--all and paths exclude each other") }
    }

    /// Whether the result is a list, also when a pattern happens to match one path.
    var isList: Bool { all || paths.count > 1 || paths.contains(where: PathPattern.isPattern) }

    /// Returns the named paths; those that match patterns are in the order of the tree.
    ///
    /// - Parameter outermost: whether paths below others that are named too are left out, because what is done to the latter is done to them.
    /// - Throws: `.noSuchPath` for a pattern that no path matches.
    func resolved(by client: inout BlockingControlClient, outermost: Bool) throws(ControlError) -> [String] {
        let patterns = all ? ["/*"] : paths
        var found: [String] = []
        if patterns.contains(where: PathPattern.isPattern) {
            let tree = try ControlJSON.decode(TreeNode.self, from: try client.call(.tree))
            let present = tree.subtree.map(\.path).filter { $0 != "/" }
            for text in patterns {
                guard PathPattern.isPattern(text) else {
                    found.append(text)
                    continue
                }
                let pattern = PathPattern(text)
                let matching = present.filter { pattern.matches($0) }
                // There may be no children at all.
                guard all || !matching.isEmpty else {
                    throw ControlError(.noSuchPath, "no path matches \(text); see `coordinatorctl tree`")
                }
                found += matching
            }
        } else {
            found = patterns
        }
        var known: Set<String> = []
        let unique = found.filter { known.insert($0).inserted }
        guard outermost else { return unique }
        return unique.filter { path in !unique.contains { path != $0 && path.hasPrefix($0 + "/") } }
    }
}

extension ArgumentHelp {
    static let paths = ArgumentHelp(
        "Paths in the tree, such as /shop/cart; '/web/*' names all children of /web, '/web/**' all descendants.",
        valueName: "path"
    )
}

extension CompletionKind {
    /// The paths of the running daemon's tree.
    static let livePaths = CompletionKind.custom { _, _, prefix in
        // The shell waits for the completion; without a daemon there is none.
        guard let directory = try? RuntimeDirectory.find(option: nil),
            var client = try? BlockingControlClient(runtimeDirectory: directory, timeout: .seconds(1)),
            let json = try? client.call(.tree, timeout: .seconds(1)), let tree = try? ControlJSON.decode(TreeNode.self, from: json)
        else { return [] }
        return tree.subtree.map(\.path).filter { $0 != "/" && $0.hasPrefix(prefix) && $0 == TextLayout.printable($0) }
    }
}
