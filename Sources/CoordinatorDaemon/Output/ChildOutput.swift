import ConcurrencySupport

/// The children's output, written line by line to the daemon's standard error with each child's path before its lines.
///
/// The daemon reads the children's pipes even when standard error is blocked.
final class ChildOutput: Sendable {
    /// The length at which a line is broken.
    private static let lineLimit = 8 << 10

    private let output: DaemonOutput
    /// The unended lines, by path.
    private let partial = Lock<[String: [UInt8]]>([:])

    init(_ output: DaemonOutput) { self.output = output }

    /// Takes bytes that a child has written; never blocks.
    ///
    /// No bytes mean that the child has closed its output; its unended line is then written as it is.
    func received(_ bytes: [UInt8], from path: String) {
        let prefix = Array("[\(path)] ".utf8)
        let lines = partial.withLock { partial -> [UInt8] in
            var line = partial.removeValue(forKey: path) ?? []
            guard !bytes.isEmpty else { return line.isEmpty ? [] : prefix + line + [Self.newline] }
            let lines = Self.lines(bytes, prefix, &line)
            if !line.isEmpty { partial[path] = line }
            return lines
        }
        if !lines.isEmpty { output.write(lines, from: .children) }
    }

    private static let newline = UInt8(ascii: "\n")

    private static func lines(_ bytes: [UInt8], _ prefix: [UInt8], _ line: inout [UInt8]) -> [UInt8] {
        var lines: [UInt8] = []
        for byte in bytes {
            if byte != newline { line.append(byte) }
            guard byte == newline || line.count >= lineLimit else { continue }
            lines += prefix + line + [newline]
            line = []
        }
        return lines
    }
}
