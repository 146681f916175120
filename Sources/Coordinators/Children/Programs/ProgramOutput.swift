import ConcurrencySupport
import Processes

/// The search for a line in what a program writes.
final class LineSearch: Sendable {
    /// The length of the longest line that is compared whole; of a longer one it's the beginning.
    private static let maximumLength = 4_096

    private struct State {
        /// The beginnings of the lines of standard output and standard error that haven't ended yet.
        var lines: [Bool: [UInt8]] = [:]
        var isOver = false
    }

    private let pattern: LinePattern
    private let found: @Sendable () -> Void
    private let state = Lock(State())

    /// - Parameter found: The function that is called once, for the first line with the pattern, on the thread that drains the output.
    init(_ pattern: LinePattern, found: @escaping @Sendable () -> Void) { (self.pattern, self.found) = (pattern, found) }

    func take(_ bytes: [UInt8], isError: Bool) {
        let isFound = state.withLock { state in
            if state.isOver { return false }
            var line = state.lines.removeValue(forKey: isError) ?? []
            for piece in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                line += piece.prefix(Self.maximumLength - line.count)
                // The last piece has no end yet.
                guard piece.endIndex < bytes.endIndex else { break }
                state.isOver = pattern.matches(String(decoding: line, as: UTF8.self))
                if state.isOver { return true }
                line = []
            }
            state.lines[isError] = line
            return false
        }
        if isFound { found() }
    }
}

/// The first line that a command has written, and the signal that no more comes.
final class FirstLine: Sendable {
    private static let maximumLength = 256

    private let bytes = Lock([UInt8]())
    let end = OneShot<Void>()

    func take(_ piece: [UInt8]) {
        if piece.isEmpty { end.settle() }
        bytes.withLock { $0 += piece.prefix(Self.maximumLength - $0.count) }
    }

    /// The line; nil when there is none.
    var text: String? {
        let line = bytes.withLock { $0 }.split(separator: UInt8(ascii: "\n")).first.map { String(decoding: $0, as: UTF8.self) }
        return line.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }
}
