/// The rows of the tree, each with the number of the tick at which it last changed.
///
/// A reader is one number: the tick of what it has. Resuming, falling behind and keeping pace are thus the same, and nothing queues.
struct RowTable: Sendable {
    /// What a reader lacks.
    struct Changes: Equatable, Sendable {
        /// Whether the rows are all there are, and the reader forgets its own.
        var isWhole: Bool
        var rows: [Row]
        var gone: [String]
    }

    /// The number of vanished rows that are remembered; a reader from before the oldest of them gets all rows.
    private static let maximumGone = 4096

    /// The number of the last tick.
    private(set) var tick: UInt64 = 0
    private var changed: [String: UInt64] = [:]
    private(set) var rows: [String: Row] = [:]
    private var order: [String] = []
    private var gone: [(path: String, tick: UInt64)] = []
    /// The tick after which all vanished rows are remembered.
    private var horizon: UInt64 = 0

    /// Takes the rows of a new tick, parents before their children.
    mutating func update(_ latest: [Row]) {
        tick += 1
        var present: [String: Row] = [:]
        present.reserveCapacity(latest.count)
        for row in latest {
            if rows[row.path] != row { changed[row.path] = tick }
            present[row.path] = row
        }
        for path in order where present[path] == nil {
            changed[path] = nil
            gone.append((path, tick))
        }
        if gone.count > Self.maximumGone {
            let excess = gone.count - Self.maximumGone
            horizon = gone[excess - 1].tick
            gone.removeFirst(excess)
        }
        order = latest.map(\.path)
        rows = present
    }

    /// Returns what has changed after a tick; everything for a reader that has nothing.
    ///
    /// Before the first tick that is nothing, and a reader keeps the rows of another console that it may have.
    func changes(since sent: UInt64?) -> Changes {
        guard tick > 0 else { return Changes(isWhole: false, rows: [], gone: []) }
        guard let sent, sent > 0, sent >= horizon, sent <= tick else {
            return Changes(isWhole: true, rows: order.compactMap { rows[$0] }, gone: [])
        }
        return Changes(
            isWhole: false,
            rows: order.compactMap { path in changed[path].flatMap { $0 > sent ? rows[path] : nil } },
            gone: gone.filter { $0.tick > sent && rows[$0.path] == nil }.map(\.path)
        )
    }
}
