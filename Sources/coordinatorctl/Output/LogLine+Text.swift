import Control
import Glibc

extension LogLine {
    /// The line for people: its time, the child with its process, and the text.
    ///
    /// On a terminal, characters that it would obey are escaped.
    var text: String {
        let origin = TextLayout.printable(path) + (pid.map { "[\($0)]" } ?? "")
        if let gap {
            let amount = [gap.bytes.map { "\($0) bytes" }, gap.lines.map { "\($0) lines" }].compactMap(\.self).joined(separator: ", ")
            return "\(time) \(origin): --- output is missing here\(amount.isEmpty ? "" : " (\(amount))"): \(gap.reason) ---"
        }
        return "\(time) \(origin): \(Self.isForTerminal ? TextLayout.printable(line.replacing("\t", with: "    ")) : line)"
    }

    private static let isForTerminal = isatty(STDOUT_FILENO) == 1
}
