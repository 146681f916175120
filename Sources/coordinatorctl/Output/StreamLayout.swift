import Control
import Glibc

/// The layout of a stream's lines: on a terminal in columns and colours, and otherwise as programs read them.
struct StreamLayout {
    /// The longest origin for which those of other lines leave room.
    private static let maximumOrigin = 48

    private let isTerminal: Bool
    private let colours: Colours
    /// The columns that origins take.
    private var column = 0
    /// The origins' numbers, in the order in which they came.
    private var numbers: [String: Int] = [:]

    /// - Parameter expected: The origins that lines may have: the first line leaves room for them.
    init(isTerminal: Bool = isatty(STDOUT_FILENO) == 1, colours: Colours = .ofOutput, expecting expected: [String] = []) {
        (self.isTerminal, self.colours) = (isTerminal, colours)
        for origin in expected { makeRoom(for: origin) }
    }

    /// Returns the origin of a line with a colon, in the colour of its path, and with spaces up to the text.
    mutating func origin(_ text: String, of path: String) -> String {
        guard isTerminal else { return "\(text):" }
        makeRoom(for: text)
        let number = numbers[path] ?? numbers.count
        numbers[path] = number
        return colours.text("\(text):", ofOrigin: number) + String(repeating: " ", count: max(0, column - text.shownCount))
    }

    /// Returns the line as far as the terminal is wide.
    func line(_ text: String) -> String { isTerminal ? text.cut(to: Terminal.width ?? .max) : text }

    private mutating func makeRoom(for origin: String) {
        let count = origin.shownCount
        if count <= Self.maximumOrigin { column = max(column, count) }
    }
}

extension TreeNode {
    /// Returns the origins of the lines that what is at or below some paths may write, as ``LogLine/origin`` has them.
    func logOrigins(below paths: [String]) -> [String] {
        // A child with a process has a log, in which also is what those below it write.
        if placement == .inProcess { return children.flatMap { $0.logOrigins(below: paths) } }
        let isMeant = paths.contains { $0 == "/" || path == $0 || path.hasPrefix($0 + "/") }
        return isMeant ? [LogLine.origin(path, pid)] : []
    }
}
