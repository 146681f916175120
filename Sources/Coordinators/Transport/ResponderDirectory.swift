import ConcurrencySupport
import WireProtocol

/// The rows of the coordinators above a process, nearest first.
///
/// Tables are static, and a process ends before the coordinators above it do, so that a directory stays true. Only a root of which another
/// program has taken the place may have other rows: a new directory is handed down then.
final class ResponderDirectory: Sendable {
    /// The rows that await a message above.
    struct Entry: Sendable {
        /// Whether the first row is an interceptor's, so that nothing is known about the answer.
        var isIntercepted: Bool
        /// Whether the rows that may read the message are all of this process's build.
        var isOfThisBuild: Bool
        /// The place of the first row among all, in the order in which messages meet them.
        fileprivate var place: Int
        /// Whether one of the rows answers.
        fileprivate var isAnswered = false
    }

    /// The number of rows that a process takes from its parent.
    static let rowsLimit = 65_536

    /// The rows as the parent has told them.
    let levels: [Directory]
    private let entries: [String: Entry]
    #if !SLOW_PATH_ONLY
    /// What is known of the types of messages that were sent.
    let simpleEntries = Lock<[ObjectIdentifier: SimpleEntry?]>([:])
    #endif
    /// The rows that match the beginning of a name: all of them intercept.
    private let prefixes: [Prefix]

    /// A row that matches the beginning of a name.
    private struct Prefix {
        let text: String
        let isOfThisBuild: Bool
        let place: Int
    }

    init(_ levels: [Directory]) {
        var index = Index()
        for level in levels {
            let isOfThisBuild = level.buildID == BuildID.current
            for row in level.rows { index.add(row, isOfThisBuild) }
        }
        self.levels = levels
        (entries, prefixes) = (index.entries, index.prefixes)
    }

    /// Whether the parent has told the same rows.
    func isSame(as other: ResponderDirectory) -> Bool { levels == other.levels }

    /// Returns the rows that await messages with these names; `nil` when no coordinator above responds.
    ///
    /// - Parameter text: The names in one text.
    func entry(for text: String) -> Entry? {
        if let entry = entries[text] { return entry }
        guard WireNames.areSeveral(in: text) else { return entry(behindPrefixesFor: text) }
        let found = WireNames.all(in: text).compactMap { entries[String($0)] ?? entry(behindPrefixesFor: String($0)) }
        // A coordinator on the way may know the message by any of the names.
        guard var first = found.min(by: { $0.place < $1.place }) else { return nil }
        first.isOfThisBuild = found.allSatisfy(\.isOfThisBuild)
        return first
    }

    private func entry(behindPrefixesFor name: String) -> Entry? {
        prefixes.isEmpty ? nil : Index.entry(for: name, behind: prefixes)
    }

    /// The entries while the rows are read, in the order in which messages meet them.
    private struct Index {
        var entries: [String: Entry] = [:]
        var prefixes: [Prefix] = []
        private var place = 0

        mutating func add(_ row: Directory.Row, _ isOfThisBuild: Bool) {
            defer { place += 1 }
            if row.traits.contains(.prefix) { return add(prefix: row.name, isOfThisBuild) }
            let intercepts = row.traits.contains(.intercepts)
            let former = entries[row.name] ?? Self.entry(for: row.name, behind: prefixes)
            var entry = former ?? Entry(isIntercepted: intercepts, isOfThisBuild: true, place: place)
            // What stands behind an answer never gets the message.
            if entry.isAnswered { return }
            if !isOfThisBuild { entry.isOfThisBuild = false }
            entry.isAnswered = !intercepts
            entries[row.name] = entry
        }

        private mutating func add(prefix: String, _ isOfThisBuild: Bool) {
            prefixes.append(Prefix(text: prefix, isOfThisBuild: isOfThisBuild, place: place))
            for (name, entry) in entries where !isOfThisBuild && !entry.isAnswered && name.hasComponents(prefix) {
                entries[name]?.isOfThisBuild = false
            }
        }

        static func entry(for name: String, behind prefixes: [Prefix]) -> Entry? {
            let matching = prefixes.filter { name.hasComponents($0.text) }
            guard let first = matching.first else { return nil }
            return Entry(isIntercepted: true, isOfThisBuild: matching.allSatisfy(\.isOfThisBuild), place: first.place)
        }
    }
}

// MARK: - Handing down

extension ResponderDirectory {
    /// Leaves out the rows whose messages are answered by a row before them.
    static func reachable(_ levels: [Directory]) -> [Directory] {
        var answered: Set<String> = []
        return levels.compactMap { level in
            var level = level
            level.rows.removeAll { row in
                if row.traits.contains(.prefix) { return false }
                if row.traits.contains(.intercepts) { return answered.contains(row.name) }
                return !answered.insert(row.name).inserted
            }
            return level.rows.isEmpty ? nil : level
        }
    }

    /// Returns the contents of the frames for rows, of which each is at most this large.
    static func frames(_ levels: [Directory], ofSize size: Int) -> [Directory] {
        var frames: [Directory] = []
        for level in levels {
            var rest = level.rows[...]
            while !rest.isEmpty {
                // The header, the distance, the flag and the lengths.
                var room = size - Frame.headerSize - level.buildID.utf8.count - 16
                let part = rest.prefix { row in
                    room -= row.name.utf8.count + 4
                    return room >= 0
                }
                // A row always fits: a name is much shorter than the smallest frame.
                let rows = part.isEmpty ? rest.prefix(1) : part
                frames.append(Directory(distance: level.distance, buildID: level.buildID, isLast: false, rows: Array(rows)))
                rest = rest.dropFirst(rows.count)
            }
        }
        if frames.isEmpty { frames = [Directory(distance: 1, buildID: BuildID.current, isLast: false, rows: [])] }
        frames[frames.count - 1].isLast = true
        return frames
    }
}

/// The frames of a directory that have arrived on a link so far.
struct IncomingDirectory: Sendable {
    private var levels: [Directory] = []
    private var rows = 0

    /// Takes a frame.
    ///
    /// - Returns: The directory once it's complete, unless it has more rows than it may have.
    mutating func add(_ level: Directory) -> ResponderDirectory? {
        rows = rows.addingSaturating(level.rows.count)
        if rows > ResponderDirectory.rowsLimit { levels = [] } else if !level.rows.isEmpty { levels.append(level) }
        guard level.isLast else { return nil }
        defer { self = IncomingDirectory() }
        return rows > ResponderDirectory.rowsLimit ? nil : ResponderDirectory(levels)
    }
}

// MARK: - Listeners to changes of a value

/// The functions that are called when a value changes: for the links to the processes below.
struct ChangeListeners<Value> {
    private var functions: [UInt64: @Sendable (Value) -> Void] = [:]
    private var next: UInt64 = 0

    /// All functions, which are to be called outside of any lock.
    var all: [@Sendable (Value) -> Void] { Array(functions.values) }

    /// Adds a function, and returns the number by which it can be removed.
    mutating func add(_ function: @escaping @Sendable (Value) -> Void) -> UInt64 {
        next += 1
        functions[next] = function
        return next
    }

    mutating func remove(_ id: UInt64) { functions[id] = nil }
}
