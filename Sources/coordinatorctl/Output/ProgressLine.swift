import ConcurrencySupport
import Control
import Glibc
import WireProtocol

/// A line of standard error about what a command waits for: on a terminal it's replaced by the next one, and otherwise a new one is written when
/// something else is waited for.
final class ProgressLine {
    private let isTerminal: Bool
    private var former: String?

    init(isTerminal: Bool = isatty(STDERR_FILENO) == 1) { self.isTerminal = isTerminal }

    deinit {
        if isTerminal, former != nil { Self.write(Terminal.replacingLine(by: "")) }
    }

    func show(_ operations: [ControlOperation], _ tree: JSONValue) {
        guard let tree = try? ControlJSON.decode(TreeNode.self, from: tree) else { return }
        let (text, subject) = Self.text(operations, tree)
        guard isTerminal || subject != former else { return }
        former = subject
        Self.write(isTerminal ? Terminal.replacingLine(by: text) : "\(text)\n")
    }

    /// Returns the line, and the part of it without times.
    static func text(_ operations: [ControlOperation], _ tree: TreeNode) -> (text: String, subject: String) {
        let paths = operations.compactMap(\.path)
        let nodes = tree.moving.filter { node in
            // What fails again and again does so whatever the daemon carries out.
            if paths.isEmpty { return node.shownState != .failing }
            return paths.contains { node.path == $0 || node.path.hasPrefix("\($0)/") || node.path.hasPrefix("\($0)-") }
        }
        let shown = nodes.prefix(3)
        let rest = nodes.count > shown.count ? ", and \(nodes.count - shown.count) more" : ""
        func line(_ describe: (TreeNode) -> String) -> String {
            let what = shown.isEmpty ? "the daemon, which carries out: " + names : shown.map(describe).joined(separator: ", ") + rest
            return TextLayout.printable("coordinatorctl: waiting for \(what)")
        }
        var names: String { Set(operations.map(\.name)).sorted().joined(separator: ", ") }
        return (line { "\($0.path) (\($0.movingText))" }, line { "\($0.path) (\($0.state))" })
    }

    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

extension TreeNode {
    /// The nodes that are between two states, except those that wait for their descendants.
    fileprivate var moving: [TreeNode] {
        let below = children.flatMap(\.moving)
        switch shownState {
        case .stopping, .starting, .restarting, .failing, .waiting: return below.isEmpty ? [self] : below
        case .active, .paused, .unhealthy, .inactive, .failed, .unresponsive, nil: return below
        }
    }

    /// The state, since when, and how long it may still last.
    fileprivate var movingText: String {
        guard let stoppingMilliseconds else { return stateText }
        let limit = stopTimeoutMilliseconds.map { " of \(Duration.milliseconds($0).briefText)" } ?? ", without a limit"
        return "stopping for \(Duration.milliseconds(stoppingMilliseconds).briefText)\(limit)"
    }
}
