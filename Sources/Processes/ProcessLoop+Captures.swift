import Glibc

extension ProcessLoop {
    /// Reads once, so that one child with much output doesn't delay the others.
    func readCapture(_ token: UInt64) {
        _ = readOnce(token)
    }

    /// Delivers the content of a child's pipes, and what arrives meanwhile up to one more piece; closes a pipe that has reached its end.
    func drainCaptures(of child: UInt64) {
        for (token, capture) in captures where capture.child == child {
            // Bounded by the content at this moment: another process may hold the pipe and write faster than this one reads.
            var left = Int(systemCalls.available(capture.descriptor))
            repeat {
                guard let count = readOnce(token) else { break }
                left -= count
            } while left >= 0
        }
    }

    /// Delivers the content of a child's pipes, and closes them even if another process still holds them.
    func endCaptures(of child: UInt64) {
        drainCaptures(of: child)
        for (token, capture) in captures where capture.child == child { close(token) }
    }

    /// Reads and delivers one piece and returns its size; nil when nothing can be read now, or the end was reached.
    private func readOnce(_ token: UInt64) -> Int? {
        guard let capture = captures[token] else { return nil }
        let count = systemCalls.read(capture.descriptor, buffer)
        guard count > 0 else {
            if count != -Int(EAGAIN) { close(token) }
            return nil
        }
        capture.receive(Array(buffer[..<count]))
        return count
    }

    private func close(_ token: UInt64) {
        guard let capture = captures.removeValue(forKey: token) else { return }
        systemCalls.pollRemove(poll, capture.descriptor)
        systemCalls.close(capture.descriptor)
        capture.receive([])
    }
}
