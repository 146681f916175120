import Control
import Processes
import WireProtocol

/// What operators mean by the paths that they type: without the first slash, as patterns, or a child that has instances without a number.
///
/// All commands find it here, by the arguments that an operation declares.
enum PathMeaning {
    /// The path with its first slash.
    static func whole(_ text: String) -> String { text.isEmpty || text.hasPrefix("/") ? text : "/\(text)" }

    /// Returns the paths in a tree that a text means; none when it means no path that is there.
    static func paths(_ text: String, in tree: TreeNode) -> [String] {
        let present = tree.subtree.map(\.path)
        if PathPattern.isPattern(text) {
            let pattern = PathPattern(text)
            return present.filter { $0 != "/" && pattern.matches($0) }
        }
        if present.contains(text) { return [text] }
        let prefix = text + "-"
        let instances = present.filter { path in
            guard path.hasPrefix(prefix), let number = Int(path.dropFirst(prefix.count)), number > 0 else { return false }
            return "\(number)".count == path.count - prefix.count
        }
        return instances
    }
}

extension BlockingControlClient {
    /// The daemon's tree.
    mutating func tree() throws(ControlError) -> TreeNode { try ControlJSON.decode(TreeNode.self, from: try call(.tree)) }

    /// Returns an operation on the paths that its arguments mean.
    ///
    /// Where only a child with instances could be meant by a path that isn't there, the daemon is asked first: see ``instances(_:_:)``. A stream
    /// gets no error for a path that isn't there, because what was there may have left a log.
    ///
    /// - Throws: `.noSuchPath` for a pattern that no path matches.
    mutating func resolved(_ operation: ControlOperation) throws(ControlError) -> [ControlOperation] {
        let operands = operation.operands.map(PathMeaning.whole)
        guard !operands.isEmpty else { return [operation] }
        guard operation.isAboutMany || operands.contains(where: PathPattern.isPattern) else { return operation.on(paths: operands) }
        let tree = try tree()
        var paths: [String] = []
        for operand in operands {
            let found = PathMeaning.paths(operand, in: tree)
            if found.isEmpty, PathPattern.isPattern(operand) {
                throw ControlError(.noSuchPath, "no path matches \(operand); see `coordinatorctl tree`")
            }
            paths += found.isEmpty ? [operand] : found
        }
        var known: Set<String> = []
        return operation.on(paths: paths.filter { known.insert($0).inserted })
    }

    /// Returns the one operation that is meant.
    mutating func single(_ operation: ControlOperation) throws(ControlError) -> ControlOperation {
        let operations = try resolved(operation)
        guard operations.count == 1 else {
            throw Self.isSeveral(operation.operands.first ?? "", operations.compactMap(\.operands.first))
        }
        return operations[0]
    }

    /// Requests the one operation that is meant, and says so if the path is that of several instances.
    mutating func callSingle(_ operation: ControlOperation) throws(ControlError) -> JSONValue {
        let operation = try single(operation)
        do throws(ControlError) {
            return try call(operation)
        } catch {
            let instances = instances(operation, error)
            guard !instances.isEmpty else { throw error }
            throw Self.isSeveral(operation.operands.first ?? "", instances)
        }
    }

    /// Returns the instances of a child that isn't there without a number, after a failure that says so.
    mutating func instances(_ operation: ControlOperation, _ error: ControlError) -> [String] {
        guard error.code == .noSuchPath, let path = operation.operands.first, let tree = try? tree() else { return [] }
        return PathMeaning.paths(path, in: tree).filter { $0 != path }
    }

    private static func isSeveral(_ text: String, _ paths: [String]) -> ControlError {
        let first = paths.prefix(3).joined(separator: ", ") + (paths.count > 3 ? ", …" : "")
        return ControlError(.invalidRequest, "\(text) stands for \(paths.count) paths: \(first); this command is about one: name it")
    }
}

extension ControlOperation {
    /// Whether a path that isn't there is no error.
    fileprivate var isAboutMany: Bool { isStream }
}
