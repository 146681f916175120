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
        // There may be no children at all.
        let operations: [ControlOperation] =
            if all {
                PathMeaning.paths("/*", in: try client.tree()).map { .status(path: $0) }
            } else {
                try resolvedPaths(by: &client)
            }
        var known: Set<String> = []
        let unique = operations.compactMap(\.operands.first).filter { known.insert($0).inserted }
        guard outermost else { return unique }
        return unique.filter { path in !unique.contains { path != $0 && path.hasPrefix($0 + "/") } }
    }
}

extension PathArguments {
    private func resolvedPaths(by client: inout BlockingControlClient) throws(ControlError) -> [ControlOperation] {
        var operations: [ControlOperation] = []
        for path in paths { operations += try client.resolved(.status(path: path)) }
        return operations
    }
}

/// The paths that a command is about, which may be left out.
struct OptionalPathArguments: ParsableArguments {
    @Argument(help: .paths, completion: .livePaths) var paths: [String] = []
    @Flag(help: "Name all children of the root: the same as '/*'.") var all = false

    func validate() throws {
        if !paths.isEmpty, all { throw ValidationError("--all and paths exclude each other") }
    }

    var selection: PathArguments {
        var selection = PathArguments()
        (selection.paths, selection.all) = (paths, all)
        return selection
    }

    var isEmpty: Bool { paths.isEmpty && !all }
}

extension ArgumentHelp {
    static let paths = ArgumentHelp(
        "Paths in the tree, such as /shop/cart or shop/cart; '/web/*' names all children of /web, '/web/**' all descendants, /web the instances of a child with `instances`.",
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
