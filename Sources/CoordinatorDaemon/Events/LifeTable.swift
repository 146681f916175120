import Control

/// The last lives of each path, made from events.
struct LifeTable: Codable {
    /// The number of lives that are kept of a path.
    private static let livesLimit = 32
    /// The number of paths that are kept; those without a change for the longest time are forgotten.
    private static let pathsLimit = 1024

    private struct Entry: Codable {
        var lives: [LifeHistory.Life] = []
        /// The number of the latest event.
        var changed: UInt64
    }

    private var entries: [String: Entry] = [:]

    /// Notes an event that begins or ends a life.
    mutating func record(_ event: ControlEvent) {
        guard let path = event.path, let incarnation = event.incarnation else { return }
        switch event.kind {
        case .started, .restarted, .adopted: change(path, incarnation, event) { $0.started = $0.started ?? event.time }
        case .stopped, .crashed, .startFailed, .gaveUp:
            change(path, incarnation, event) { life in
                // A life that has ended may be given up afterwards.
                guard life.ended == nil else { return }
                life.ended = event.time
                (life.reason, life.exitCode, life.signal) = (event.reason, event.exitCode, event.signal)
            }
        default: break
        }
    }

    private mutating func change(
        _ path: String,
        _ incarnation: UInt32,
        _ event: ControlEvent,
        _ body: (inout LifeHistory.Life) -> Void
    ) {
        var entry = entries.removeValue(forKey: path) ?? Entry(changed: 0)
        entry.changed = event.number
        if let index = entry.lives.lastIndex(where: { $0.incarnation == incarnation }) {
            entry.lives[index].pid = entry.lives[index].pid ?? event.pid
            body(&entry.lives[index])
        } else {
            var life = LifeHistory.Life(incarnation: incarnation, pid: event.pid)
            body(&life)
            entry.lives.append(life)
            if entry.lives.count > Self.livesLimit { entry.lives.removeFirst() }
        }
        entries[path] = entry
        if entries.count > Self.pathsLimit, let oldest = entries.min(by: { $0.value.changed < $1.value.changed })?.key {
            entries[oldest] = nil
        }
    }

    /// Returns the number of a path's last life.
    func last(of path: String) -> UInt32? { entries[path]?.lives.last?.incarnation }

    /// Returns the lives of a path with their durations.
    func history(of path: String) -> LifeHistory? {
        guard let entry = entries[path] else { return nil }
        let lives = entry.lives.map { life in
            var life = life
            let end = life.ended.flatMap { Timestamp.microseconds(of: $0) } ?? Timestamp.nowMicroseconds
            life.durationMilliseconds = life.started.flatMap { Timestamp.microseconds(of: $0) }.map { max(0, end - $0) / 1000 }
            return life
        }
        return LifeHistory(path: path, lives: lives)
    }
}
