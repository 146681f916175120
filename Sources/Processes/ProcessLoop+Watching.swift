import Synchronization

extension ProcessLoop {
    /// Begins to wait for a process that isn't a child of this one.
    func startWatch(_ watch: ProcessWatch, _ continuation: CheckedContinuation<ProcessWatch.Outcome, Never>) {
        guard !watch.isCancelled.load(ordering: .sequentiallyConsistent) else {
            continuation.resume(returning: .cancelled)
            return
        }
        switch watch.identity.open(systemCalls) {
        case .gone: continuation.resume(returning: .gone)
        case .failed: continuation.resume(returning: .failed)
        case .opened(let descriptor):
            let token = nextToken()
            guard systemCalls.pollAdd(poll, descriptor, token) >= 0 else {
                systemCalls.close(descriptor)
                continuation.resume(returning: .failed)
                return
            }
            watched[token] = Watched(watch: watch, descriptor: descriptor, continuation: continuation)
        }
    }

    func cancel(_ watch: ProcessWatch) {
        guard let token = watched.first(where: { $0.value.watch === watch })?.key else { return }
        end(token, .cancelled)
    }

    func end(_ token: UInt64, _ outcome: ProcessWatch.Outcome) {
        guard let entry = watched.removeValue(forKey: token) else { return }
        systemCalls.pollRemove(poll, entry.descriptor)
        systemCalls.close(entry.descriptor)
        entry.continuation.resume(returning: outcome)
    }
}
