import Glibc

extension ProcessLoop {
    /// Reads once, so that one talkative child doesn't delay the others.
    func readCapture(_ token: UInt64) {
        _ = readOnce(token)
    }

    /// Delivers what is in the pipes of a child now, and what comes meanwhile up to one more piece; notices the end if it is there.
    func drainCaptures(of child: UInt64) {
        for (token, capture) in captures where capture.child == child {
            // Bounded by what is there now: another process may hold the pipe and write faster than we read.
            var left = Int(systemCalls.available(capture.descriptor))
            repeat {
                guard let count = readOnce(token) else { break }
                left -= count
            } while left >= 0
        }
    }

    /// Delivers what is in the pipes of a child, and closes them even if another process still holds them.
    func endCaptures(of child: UInt64) {
        drainCaptures(of: child)
        for (token, capture) in captures where capture.child == child { close(token) }
    }

    /// How many bytes were delivered; nil when there is nothing now, or nothing any more.
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
