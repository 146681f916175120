import Glibc

extension ProcessLoop {
    /// The number of datagrams that are read at once at most; as a rule fewer wait in a socket (`net.unix.max_dgram_qlen`).
    private static let datagramLimit = 1_024

    /// Reads once, so that one child with much output doesn't delay the others.
    func readCapture(_ token: UInt64) {
        if !mustWait(token) { _ = readOnce(token) }
    }

    /// Whether the output stays in its pipe for now, which isn't watched then.
    private func mustWait(_ token: UInt64) -> Bool {
        guard let capture = captures[token], let isFull = capture.end.isFull else { return false }
        switch capture.waiting {
        case .waits: return true
        case .overdue:
            if !isFull() { captures[token]?.waiting = .no }
            return false
        case .no:
            guard isFull() else { return false }
            captures[token]?.waiting = .waits(since: .now)
            waitingCaptures.insert(token)
            systemCalls.pollRemove(poll, capture.descriptor)
            return true
        }
    }

    /// Watches pipes again whose output needn't wait any more, or has waited for too long.
    func resumeCaptures() {
        for token in waitingCaptures {
            guard let capture = captures[token], case .waits(let since) = capture.waiting else {
                waitingCaptures.remove(token)
                continue
            }
            let isOverdue = SuspendingClock.now - since >= ProcessSpecification.longestWait
            guard isOverdue || capture.end.isFull?() != true else { continue }
            // A failure is tried again in the next round.
            guard systemCalls.pollAdd(poll, capture.descriptor, token) >= 0 else { continue }
            waitingCaptures.remove(token)
            captures[token]?.waiting = isOverdue ? .overdue : .no
        }
    }

    /// Delivers the content of a child's pipes, and what arrives meanwhile up to one more piece; closes a pipe that has reached its end.
    func drainCaptures(of child: UInt64) {
        for (token, capture) in captures where capture.child == child {
            drain(capture.end) { readOnce(token) }
        }
    }

    /// Calls a function that reads one piece of an end, and returns its size, until that returns nil.
    ///
    /// Bounded by the content at this moment: another process may have the other end and write faster than this one reads.
    func drain(_ end: ReadingEnd, _ readOnce: () -> Int?) {
        // Of datagrams the kernel tells the size of the next one only.
        let isCounted = end.role == .datagrams
        var left = isCounted ? Self.datagramLimit : Int(systemCalls.available(end.descriptor))
        repeat {
            guard let count = readOnce() else { return }
            left -= isCounted ? 1 : count
        } while left >= 0
    }

    /// Delivers the content of a child's pipes, and closes them even if another process still holds them.
    func endCaptures(of child: UInt64) {
        drainCaptures(of: child)
        for (token, capture) in captures where capture.child == child { close(token) }
    }

    /// Reads and delivers one piece and returns its size; nil when nothing can be read now, or the end was reached.
    private func readOnce(_ token: UInt64) -> Int? {
        guard let capture = captures[token] else { return nil }
        let count = readPiece(of: capture.end)
        if let count, count >= 0 { return count }
        if count != -Int(EAGAIN) { close(token) }
        return nil
    }

    /// Reads and delivers one piece.
    ///
    /// - Returns: Its size, or the negated errno; nil at the end. A socket for datagrams has no end, but empty datagrams, which aren't
    ///   delivered.
    func readPiece(of end: ReadingEnd) -> Int? {
        let count = systemCalls.read(end.descriptor, buffer)
        if count > 0 { end.receive(Array(buffer[..<count])) }
        return count == 0 && end.role != .datagrams ? nil : count
    }

    private func close(_ token: UInt64) {
        guard let capture = captures.removeValue(forKey: token) else { return }
        systemCalls.pollRemove(poll, capture.descriptor)
        capture.end.close(systemCalls)
        capture.end.receive([])
    }

    /// Has epoll watch some reading ends for a child.
    ///
    /// On failure all of them are closed.
    func register(_ ends: [ReadingEnd], of child: UInt64, action: String) throws(ProcessError) -> [UInt64: Capture] {
        var registered: [UInt64: Capture] = [:]
        var failure: Int32 = 0
        for end in ends {
            let token = nextToken()
            registered[token] = Capture(end: end, child: child)
            // After a failure the remaining ends are only collected, to be closed.
            if failure == 0 { failure = min(0, systemCalls.pollAdd(poll, end.descriptor, token)) }
        }
        if failure == 0 { return registered }
        forget(registered)
        throw ProcessError(-failure, action: action)
    }

    /// Closes the reading ends of a child that can't be kept.
    func forget(_ registered: [UInt64: Capture]) {
        for capture in registered.values {
            systemCalls.pollRemove(poll, capture.descriptor)
            capture.end.close(systemCalls)
        }
    }
}
