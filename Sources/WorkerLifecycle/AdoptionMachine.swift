/// The workers that a killed root process has left, as a value: which of them are adopted, and which are ended before their path lives again.
///
/// The owner calls the roll when it takes the directory over: a worker that lives and can dial says so by `answer(_:)`, and one that doesn't is
/// ended. Then each start that the new tree requests is told by `claim(_:as:)`, and `settle()` follows the last. The machine does nothing by
/// itself and reads no clock, so the same calls give the same answers.
///
/// - Guarantees: a worker is adopted once at most, and only for its own path, by a start with its own fingerprint. Whatever else lives at
///   the path, or below one that moves into another process, is to be ended before the start proceeds. After `settle()` no worker is left
///   that isn't adopted, promised to a start or to be ended. The incarnations of a path never repeat.
/// - Cost: a call costs O(n) at most, in the workers that are left.
public struct AdoptionMachine: Sendable {
    /// An orphaned worker, numbered by the owner.
    public typealias OrphanID = Int

    /// A worker that a killed root process has left.
    public struct Orphan: Sendable, Hashable {
        /// The keys from the root to the worker's coordinator.
        public let path: [String]
        /// The number of the life at the path, at least 1.
        public let incarnation: UInt32
        /// The worker's program and configuration, condensed.
        public let fingerprint: String

        /// Creates an orphan.
        public init(path: [String], incarnation: UInt32, fingerprint: String) {
            self.path = path
            self.incarnation = incarnation
            self.fingerprint = fingerprint
        }
    }

    /// The place that a coordinator or program is to be started in.
    public enum Place: Sendable, Hashable {
        /// The root's own process: workers below the path may be adopted later.
        case here
        /// A worker; `nil`: no worker that lives already may serve.
        case worker(fingerprint: String?)
        /// A plain program.
        case program
    }

    /// The answer to a start.
    public struct Beginning: Sendable, Hashable {
        /// The incarnation that the numbering goes on from: the start has the next; 0 when nothing is known of the path.
        public var after: UInt32 = 0
        /// The worker to adopt instead of spawning one; it's promised to this start.
        public var adopts: OrphanID?
        /// The workers whose end the start has to wait for.
        public var waitsFor: [OrphanID] = []

        /// Creates the answer to a start that nothing is known about.
        public init() {}
    }

    /// The progress of an orphan.
    enum Standing: Sendable, Hashable {
        /// The worker hasn't said that it's there. Can transition to: present, ending.
        case called
        /// The worker lives, and no start has asked for it. Can transition to: promised, ending.
        case present
        /// A start adopts the worker. Can transition to: ending.
        case promised
        /// The worker is being ended. Can transition to: nothing.
        case ending
    }

    /// The orphans that haven't ended, nor been adopted.
    private(set) var orphans: [OrphanID: (orphan: Orphan, standing: Standing)] = [:]
    /// The last incarnation of each path that was recorded, until the path is started.
    private var latest: [[String]: UInt32] = [:]

    /// Creates the machine of a root that takes over.
    ///
    /// - Parameters:
    ///   - orphans: the workers that live.
    ///   - ended: the last incarnations of paths whose worker was recorded, and has ended since.
    public init(_ orphans: [OrphanID: Orphan], ended: [[String]: UInt32] = [:]) {
        self.orphans = orphans.mapValues { ($0, .called) }
        latest = ended
        for orphan in orphans.values { latest[orphan.path] = max(latest[orphan.path] ?? 0, orphan.incarnation) }
    }

    /// Whether nothing is known of any path any more.
    public var isEmpty: Bool { orphans.isEmpty && latest.isEmpty }

    /// The workers whose answer is awaited.
    public var called: [OrphanID] { orphans.keys.filter { orphans[$0]?.standing == .called }.sorted() }

    /// Takes note that a worker is there, and can be adopted.
    public mutating func answer(_ id: OrphanID) {
        if orphans[id]?.standing == .called { orphans[id]?.standing = .present }
    }

    /// Takes note that nothing is left of a worker.
    public mutating func end(_ id: OrphanID) { orphans[id] = nil }

    /// Takes note that the start to which a worker was promised has taken it over.
    public mutating func adopt(_ id: OrphanID) {
        if orphans[id]?.standing == .promised { orphans[id] = nil }
    }

    /// Ends the roll call.
    ///
    /// - Returns: The workers that haven't answered, to be ended now.
    public mutating func endRollCall() -> [OrphanID] { endAll { $0 == .called } }

    /// Takes note that a path is to be started, by the first request for it.
    public mutating func claim(_ path: [String], as place: Place) -> Beginning {
        var beginning = Beginning()
        beginning.after = latest.removeValue(forKey: path) ?? 0
        if let id = successor(for: path, place), let incarnation = orphans[id]?.orphan.incarnation, incarnation >= beginning.after {
            orphans[id]?.standing = .promised
            beginning.adopts = id
            beginning.after = incarnation - 1
        }
        for id in orphans.keys.sorted() where id != beginning.adopts && isInTheWay(id, of: path, place) {
            orphans[id]?.standing = .ending
            beginning.waitsFor.append(id)
        }
        return beginning
    }

    /// Takes note that all starts have been requested.
    ///
    /// - Returns: The workers that no start has asked for, to be ended now.
    public mutating func settle() -> [OrphanID] {
        latest = [:]
        return endAll { $0 == .called || $0 == .present }
    }

    /// Takes note that the root ends.
    ///
    /// - Returns: The workers that are left, to be ended now.
    public mutating func close() -> [OrphanID] {
        latest = [:]
        return endAll { $0 != .ending }
    }

    /// Returns the worker that may live on by a start: the newest one, if it's of the same program and configuration.
    private func successor(for path: [String], _ place: Place) -> OrphanID? {
        guard case .worker(let fingerprint?) = place else { return nil }
        let newest = orphans.filter { $0.value.orphan.path == path }.max { $0.value.orphan.incarnation < $1.value.orphan.incarnation }
        guard let newest, newest.value.standing == .present, newest.value.orphan.fingerprint == fingerprint else { return nil }
        return newest.key
    }

    private func isInTheWay(_ id: OrphanID, of path: [String], _ place: Place) -> Bool {
        guard let other = orphans[id]?.orphan.path else { return false }
        return place == .here ? other == path : other.starts(with: path)
    }

    private mutating func endAll(_ isMeant: (Standing) -> Bool) -> [OrphanID] {
        let ids = orphans.keys.sorted().filter { id in orphans[id].map { isMeant($0.standing) } ?? false }
        for id in ids { orphans[id]?.standing = .ending }
        return ids
    }
}
