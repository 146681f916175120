import Control

/// The latest events, each with a number that also grows across daemons.
struct EventRing: Sendable {
    /// One event with its number.
    struct Entry: Codable, Sendable {
        var sequence: UInt64
        var event: ControlEvent
    }

    private static let capacity = 2048

    private(set) var last: UInt64 = 0
    private var entries: [Entry] = []

    mutating func append(_ event: ControlEvent) {
        last += 1
        entries.append(Entry(sequence: last, event: event))
        // In steps, so that the cost of moving the others is shared.
        if entries.count > Self.capacity * 2 { entries.removeFirst(entries.count - Self.capacity) }
    }

    /// Returns the events after a number, oldest first, the latest at most; and how many between are missing.
    ///
    /// A number that is yet to come is another console's: its reader has seen nothing of this one's events.
    func after(_ sequence: UInt64?, limit: Int, path: String? = nil) -> (entries: [Entry], missed: UInt64) {
        let start = sequence.flatMap { $0 <= last ? $0 : nil }
        let newer = entries.filter { $0.sequence > start ?? 0 && (path == nil || $0.event.isAbout(path ?? "/")) }
        let kept = newer.suffix(limit)
        guard let start, path == nil else { return (Array(kept), 0) }
        return (Array(kept), last - start - UInt64(kept.count))
    }
}
