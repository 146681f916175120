import Glibc
import Processes
import WireProtocol

/// The files that a file includes, whose children are among its own.
extension ConfigurationReader {
    private static let maximumFiles = 1_000
    private static let expected = "the path of a YAML file with `children`, of a directory, or a pattern"
    /// What an included file may have.
    private static var includedKeys: [KeyDescription] {
        Keys.file.keys.map(\.description).filter { ["children", "defaults", "include"].contains($0.name) }
    }

    /// Returns the file with the children of the files that it includes, and all children with the defaults around them.
    mutating func complete(_ root: YAMLNode, size: Int) -> YAMLNode {
        including = [Self.identity(of: file)]
        room = Self.maximumNodes(size)
        guard case .mapping = root.content else { return root }
        let children = root["children"]
        // What isn't a list is reported when it's read.
        if let children, children.elements == nil { return root }
        var nodes = self.children(children?.elements ?? [], with: root["defaults"])
        if let include = root["include"] { nodes += included(by: include, in: file, with: root["defaults"]) }
        if room < 0 {
            let problem = "the file has more than \(Self.maximumNodes(size)) values (`defaults` count for each child)"
            report(at: root.mark, "\(problem); expected fewer or smaller defaults")
        }
        guard children != nil || root["include"] != nil else { return root }
        let place = children ?? root["include"] ?? root
        return root.setting("children", YAMLNode(.sequence(nodes), tag: children?.tag, mark: place.mark))
    }

    private mutating func included(by node: YAMLNode, in file: String, with defaults: YAMLNode?) -> [YAMLNode] {
        (node.elements ?? [node]).flatMap { item -> [YAMLNode] in
            // What isn't a text is reported when it's read.
            guard let text = item.text, !text.isEmpty, item.plain == nil || item.plain == .text else { return [] }
            let directory = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
            let path = text.hasPrefix("/") ? text : directory + text
            return files(at: path, item).flatMap { children(of: $0, item, with: defaults) }
        }
    }

    /// Returns the files that a path means, in the order of their names: itself, those of a directory, or those that match.
    private mutating func files(at path: String, _ item: YAMLNode) -> [String] {
        let isPattern = path.contains { "*?[".contains($0) }
        var information = stat()
        let isDirectory = !isPattern && stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
        guard isPattern || isDirectory else { return [path] }
        if account != nil {
            let reason = "a directory or a pattern is looked up as the daemon's user, and another one has named the file"
            report(at: item.mark, "`\(path)` isn't included: \(reason); expected the paths of files")
            return []
        }
        var paths: [String] = []
        for pattern in isDirectory ? ["\(path)/*.yaml", "\(path)/*.yml"] : [path] {
            var found = glob_t()
            defer { globfree(&found) }
            // A directory that isn't there has no files; one that can't be read may have children that run.
            let status = glob(
                pattern,
                0,
                { _, code in
                    errno = code
                    return code == ENOENT ? 0 : 1
                },
                &found
            )
            guard status == 0 || status == GLOB_NOMATCH else {
                let reason = String(cString: strerror(errno))
                report(at: item.mark, "`\(path)` can't be looked through: \(reason); expected directories that the daemon may read")
                return []
            }
            paths += (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
        }
        return paths.sorted()
    }

    private mutating func children(of path: String, _ item: YAMLNode, with defaults: YAMLNode?) -> [YAMLNode] {
        let identity = Self.identity(of: path)
        if let first = including.firstIndex(of: identity) {
            let circle = (including[first...] + [identity]).map { "`\($0)`" }.joined(separator: ", which includes ")
            report(at: item.mark, "the file includes itself: \(circle); expected no circle")
            return []
        }
        fileCount += 1
        guard fileCount <= Self.maximumFiles else {
            report(at: item.mark, "more than \(Self.maximumFiles) files are included; expected fewer")
            return []
        }
        let (root, size): (YAMLNode?, Int)
        do throws(ConfigurationError) {
            let bytes = try DaemonConfiguration.contents(ofFile: path, as: account)
            let text = try SourceText.decode(bytes, file: path)
            (root, size) = (try YAMLComposer.compose(text, file: path, isIncluded: true), bytes.count)
        } catch {
            for problem in error.problems {
                // Of a file that can't be read, the place that names it is what has to be changed.
                if problem.line == 0 { report(at: item.mark, "`\(path)`: \(problem.message)") } else { report(problem) }
            }
            return []
        }
        guard let root, root.plain != .null, checkTree(root, size: size) else { return [] }
        room += Self.maximumNodes(size)
        guard let fields = fields(root, "an included file", Self.includedKeys) else { return [] }
        if let own = fields["defaults"], self.defaults(own, "`defaults`") == nil { return [] }
        let nodes = fields["children"].map { list($0, "`children`", expected: "a list") ?? [] } ?? []
        let merged = fields["defaults"].map { own in defaults.map { Self.merged($0, under: own) } ?? own } ?? defaults
        including.append(identity)
        defer { including.removeLast() }
        return children(nodes, with: merged) + (fields["include"].map { included(by: $0, in: path, with: merged) } ?? [])
    }

    /// The path of a file by which it's known again.
    private static func identity(of path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}

extension Value<[String]> {
    /// Paths of files, which are read before everything else.
    static var included: Value {
        let path = Value<String>.path("the path of a file")
        let list = path.list("an item of `include`", expected: "a path, or a list of paths, directories and patterns")
        var value = Value(["anyOf": [path.schema, list.schema]], show: list.show) { reader, node, name in
            node.text == nil ? list.read(&reader, node, name) : path.read(&reader, node, name).map { [$0] }
        }
        // A plan compares the children, wherever they are described.
        value.differences = { _, _, _ in [] }
        return value
    }
}
