import Control
import Glibc
import Processes
import TestSupport
import Testing

/// The configuration of one program, and a directory in which the program and its test talk by files.
struct ProgramTree {
    let directory: TemporaryDirectory
    let text: String

    /// - Parameters:
    ///   - script: The program, of the shell; in it and in the keys `DIR` stands for the directory.
    ///   - keys: The keys of the program, besides its command, one a line.
    ///   - child: The keys of the child, besides its key, one a line.
    init(_ script: String, _ keys: String, child: String = "", intensity: Int = 100) throws {
        directory = try TemporaryDirectory()
        // The program may be another user's.
        chmod(directory.path, 0o755)
        func indented(_ text: String, _ depth: Int) -> String {
            text.split(separator: "\n").map { String(repeating: " ", count: depth) + $0 + "\n" }.joined()
        }
        text = """
            children:
              - name: p
            \(indented(child, 4))    program:
                  command: [sh, -c, '\(script)']
            \(indented(keys, 6))supervision: { max_restarts: \(intensity), period: 60s, backoff: { minimum: 1ms, maximum: 10ms } }
            """.replacing("DIR", with: directory.path)
    }

    /// Runs a daemon with the program.
    func run(_ log: Transcript? = nil, _ body: (RunningDaemon) async throws -> Void) async throws {
        try await RunningDaemon.with(text, standardError: log?.destination ?? .null, body)
    }

    /// Makes a file in the directory.
    func touch(_ name: String) throws { try Files.write("", to: directory.file(name), mode: 0o644) }

    /// Removes a file of the directory.
    func remove(_ name: String) { unlink(directory.file(name)) }
}

extension RunningDaemon {
    /// Waits until the program is in a state, and returns its node.
    @discardableResult
    func program(
        _ what: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (TreeNode) -> Bool
    ) async throws -> TreeNode {
        var found: TreeNode?
        try await eventually(what, sourceLocation: sourceLocation) {
            let node = try await node("/p")
            found = node
            return condition(node)
        }
        return try #require(found)
    }
}
