import Synchronization
import WireProtocol

extension WorkerHost {
    /// How often a worker is pinged.
    static let heartbeat = Duration.seconds(1)

    /// Begins to ping the worker.
    ///
    /// One that gives no sign for `hungAfter` is killed, and restarted as its type says.
    ///
    /// The answer comes from the worker's link, not from its coordinators: long work on the processor is legitimate.
    func beginHeartbeat() {
        let now = MonotonicTime.now
        state.withLock { $0.lastSign = now }
        scheduleBeat(at: now + Self.heartbeat)
    }

    /// The worker has given a sign of life.
    func heardFrom() {
        let now = MonotonicTime.now
        // Before the first beat nothing is expected.
        state.withLock { if $0.lastSign != .distantFuture { $0.lastSign = now } }
    }

    private func scheduleBeat(at time: MonotonicTime) {
        _ = Timers.shared.schedule(at: time) { [weak self] in self?.beat(dueAt: time) }
    }

    private func beat(dueAt time: MonotonicTime) {
        let now = MonotonicTime.now
        let (hasEnded, isHung, peer) = state.withLock { state -> (Bool, Bool, Peer?) in
            // A parent that was late itself, suspended or starved, has no right to a verdict.
            if now - time > Self.heartbeat { state.lastSign = now }
            return (state.hasEnded, now - state.lastSign >= runtime.hungAfter, state.isGreeted ? state.peer : nil)
        }
        if hasEnded { return }
        if isHung {
            let message = "\(path) has given no sign for \(runtime.hungAfter)"
            return condemn(.hung, CoordinatorError(.peerLost, message, maybeExecuted: true))
        }
        checkMemory()
        peer?.send(Frame(.ping(Probe(timestampNanoseconds: UInt64(now.nanoseconds), kind: .link))))
        scheduleBeat(at: now + Self.heartbeat)
    }
}
