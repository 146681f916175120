import Dispatch
import Glibc
import Synchronization

/// What children write, line by line on the daemon's standard error, each line with its path before it.
///
/// The children's pipes are drained whatever happens here: when standard error can't take it all, the rest is dropped and the gap is said.
final class ChildOutput: Sendable {
    /// How much may wait for standard error, in bytes.
    private static let waitingLimit = 1 << 20
    /// A line that is longer is broken.
    private static let lineLimit = 8 << 10

    private struct State {
        var partial: [String: [UInt8]] = [:]
        var waiting = 0
        var dropped = 0
    }

    private let state = Mutex(State())
    /// Standard error may block its writer: only this queue's thread.
    private let queue = DispatchQueue(label: "child-output")

    /// Takes what a child has written; never blocks.
    ///
    /// Nothing: the child has closed its output.
    func received(_ bytes: [UInt8], from path: String) {
        let text = state.withLock { state -> [UInt8] in
            let lines = Self.lines(bytes, from: path, &state.partial)
            guard state.waiting + lines.count <= Self.waitingLimit else {
                state.dropped += lines.count
                return []
            }
            var text: [UInt8] = []
            if state.dropped > 0 { text += Array("[\(path)] (\(state.dropped) bytes of output were dropped)\n".utf8) }
            state.dropped = 0
            text += lines
            state.waiting += text.count
            return text
        }
        if !text.isEmpty { queue.async { self.write(text) } }
    }

    /// Waits until what has been taken is written.
    func flush() async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    private func write(_ text: [UInt8]) {
        var rest = text[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            rest = rest.dropFirst(count)
        }
        state.withLock { $0.waiting -= text.count }
    }

    private static func lines(_ bytes: [UInt8], from path: String, _ partial: inout [String: [UInt8]]) -> [UInt8] {
        var line = partial.removeValue(forKey: path) ?? []
        var lines: [UInt8] = []
        let prefix = Array("[\(path)] ".utf8)
        for byte in bytes {
            line.append(byte)
            guard byte == UInt8(ascii: "\n") || line.count >= lineLimit else { continue }
            lines += prefix + line + (byte == UInt8(ascii: "\n") ? [] : [UInt8(ascii: "\n")])
            line = []
        }
        if !line.isEmpty { partial[path] = line }
        return lines
    }
}
