import Control
import Glibc

extension LogLine {
    /// The line for people: its time, the child with its process, and the text.
    ///
    /// Characters that a terminal would obey are escaped: in the text, which is the child's, only on a terminal.
    var text: String {
        var layout = StreamLayout(isTerminal: false)
        return text(&layout)
    }

    /// The same in the layout of a stream.
    func text(_ layout: inout StreamLayout) -> String {
        let origin = layout.origin(Self.origin(path, pid), of: path)
        let time = TextLayout.printable(time)
        if let gap {
            let amount = [gap.bytes.map { "\($0) bytes" }, gap.lines.map { "\($0) lines" }].compactMap(\.self).joined(separator: ", ")
            let reason = TextLayout.printable(gap.reason)
            return "\(time) \(origin) --- output is missing here\(amount.isEmpty ? "" : " (\(amount))"): \(reason) ---"
        }
        return "\(time) \(origin) \(Self.isForTerminal ? TextLayout.printable(line.replacing("\t", with: "    ")) : line)"
    }

    /// The child of a line, and its process.
    static func origin(_ path: String, _ pid: Int32?) -> String { TextLayout.printable(path) + (pid.map { "[\($0)]" } ?? "") }

    private static let isForTerminal = isatty(STDOUT_FILENO) == 1
}
