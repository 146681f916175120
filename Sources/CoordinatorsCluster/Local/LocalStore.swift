import ConcurrencySupport
import DequeModule
import Dispatch

/// The store of one machine, in the memory of one process, with the semantics of a cluster's.
///
/// The epochs alone outlive the process, in a file: no epoch is given twice, and none is lower than an earlier one, across restarts and
/// crashes of the machine. Leases count by the continuous clock. Someone who removes the file makes the epochs begin again. The file is written
/// on a thread of the store's own: one that its file system doesn't let go holds up the store alone.
public actor LocalStore: RevisionedStore {
    private struct Lease {
        let timeToLive: Duration
        var end: ContinuousClock.Instant
        var keys: Set<StoreKey> = []
    }

    /// The number of past changes that are kept for watches that are behind.
    static let historyLimit = 1024

    package nonisolated let tryLimit = Duration.seconds(1)
    private let executor = QueueExecutor()
    private let file: EpochFile?
    private var revision: StoreRevision
    /// The revision after which all changes are in the history.
    private var oldest: StoreRevision
    private var history: Deque<StoreChange> = []
    private var entries: [StoreKey: StoreEntry] = [:]
    private var leases: [LeaseIdentifier: Lease] = [:]
    /// Settled at the next change, or when a watch must look for another reason.
    private var arrival = OneShot<Void>()

    /// Opens a store.
    ///
    /// - Parameter path: The file in which the epochs are kept, and beside which a file `.lock` is made; `nil`: the epochs begin again with
    ///   each process, as tests want it.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/unusable`` when the file can't be read or written, has another content, or
    ///   is another process's.
    public init(epochs path: String?) throws(StoreError) {
        file = if let path { try EpochFile(path) } else { nil }
        revision = StoreRevision(rawValue: file?.first ?? 0)
        oldest = revision
    }

    /// The executor of the store, whose thread may wait for a file system.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package func grant(_ id: LeaseIdentifier, timeToLive: Duration, before limit: ContinuousClock.Instant) throws(StoreError) -> Duration? {
        try beginTransaction("make a lease", before: limit)
        guard leases[id] == nil else { return nil }
        leases[id] = Lease(timeToLive: timeToLive, end: .now + timeToLive)
        // Watches sleep until the first lease ends.
        wake()
        return timeToLive
    }

    package func keepAlive(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) throws(StoreError) -> Duration? {
        try beginTransaction("renew a lease", before: limit)
        guard let lease = leases[id] else { return nil }
        leases[id]?.end = .now + lease.timeToLive
        return lease.timeToLive
    }

    package func revoke(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) throws(StoreError) {
        try beginTransaction("end a lease", before: limit)
        try end(id)
    }

    package func commit(_ transaction: Transaction, before limit: ContinuousClock.Instant) throws(StoreError) -> TransactionResult {
        try beginTransaction("write \(transaction.key)", before: limit)
        guard transaction.conditions.allSatisfy(holds) else { return .refused(transaction.otherwise.compactMap { entries[$0] }) }
        let writes = [(key: transaction.key, write: transaction.write)] + transaction.others
        let changing = writes.filter { write in
            if case .remove = write.write { entries[write.key] != nil } else { true }
        }
        for case (_, .put(_, let lease?)) in changing where leases[lease] == nil { throw .leaseLost(lease) }
        if !changing.isEmpty {
            let next = try nextRevision()
            for (key, write) in changing { carryOut(write, to: key, at: next) }
            announce(next)
        }
        return .written(revision)
    }

    package func read(_ range: StoreRange, before limit: ContinuousClock.Instant) throws(StoreError) -> StoreListing {
        try beginTransaction("read \(range)", before: limit)
        let found = entries.values.filter { range.contains($0.key) }
        return StoreListing(revision: revision, entries: found.sorted { $0.key.description < $1.key.description })
    }

    /// Returns the changes after a revision; the last 1,024 changes are kept.
    public nonisolated func watch(_ range: StoreRange, after revision: StoreRevision) -> StoreWatch {
        StoreWatch { LocalWatch(store: self, range: range, after: revision) }
    }

    /// The changes that a watch finds after a revision.
    enum Look {
        case changes([StoreChange], upTo: StoreRevision)
        case outdated
        /// There is no change yet. The watch looks again when the arrival is settled, or when a lease ends.
        case nothing(OneShot<Void>, leaseEnd: ContinuousClock.Instant?)
    }

    func look(_ range: StoreRange, after seen: StoreRevision) -> Look {
        expire()
        guard seen >= oldest else { return .outdated }
        // The history is in order, and a watch is near its end.
        let news = history.reversed().prefix { $0.revision > seen }.reversed().filter { range.contains($0.key) }
        if !news.isEmpty { return .changes(news, upTo: revision) }
        if arrival.isSettled { arrival = OneShot() }
        let now = ContinuousClock.now
        return .nothing(arrival, leaseEnd: leases.values.map(\.end).filter { $0 > now }.min())
    }

    private func beginTransaction(_ action: String, before limit: ContinuousClock.Instant) throws(StoreError) {
        guard !Task.isCancelled else { throw .cancelled(action, mayHaveHappened: false) }
        guard ContinuousClock.now < limit else { throw .late(action, mayHaveHappened: false, cause: nil) }
        expire()
    }

    /// Ends the leases whose time is over, each as one change; in order, as timers would.
    private func expire() {
        let now = ContinuousClock.now
        for (id, _) in leases.filter({ $0.value.end <= now }).sorted(by: { $0.value.end < $1.value.end }) {
            // With a file that can't be written a lease without keys ends all the same; the others stay until it can: nothing is granted then.
            try? end(id)
        }
    }

    private func end(_ id: LeaseIdentifier) throws(StoreError) {
        guard let lease = leases[id] else { return }
        if !lease.keys.isEmpty {
            let next = try nextRevision()
            for key in lease.keys.sorted(by: { $0.description < $1.description }) { remove(key, at: next) }
            announce(next)
        }
        leases[id] = nil
    }

    private func holds(_ condition: Transaction.Condition) -> Bool {
        switch condition {
        case .created(let key, let revision): entries[key]?.created == revision
        case .modified(let key, let revision): entries[key]?.modified == revision
        case .leased(let key, let lease): entries[key]?.lease == lease
        }
    }

    private func carryOut(_ write: Transaction.Write, to key: StoreKey, at next: StoreRevision) {
        switch write {
        case .put(let value, let lease): self.write(value, for: key, lease: lease, at: next)
        case .replace(let value): self.write(value, for: key, lease: entries[key]?.lease, at: next)
        case .remove: remove(key, at: next)
        }
    }

    private func write(_ value: [UInt8], for key: StoreKey, lease: LeaseIdentifier?, at next: StoreRevision) {
        let former = entries[key]
        if let held = former?.lease, held != lease { leases[held]?.keys.remove(key) }
        if let lease { leases[lease]?.keys.insert(key) }
        let entry = StoreEntry(key: key, value: value, created: former?.created ?? next, modified: next, lease: lease)
        entries[key] = entry
        history.append(StoreChange(key: key, revision: next, entry: entry))
    }

    private func remove(_ key: StoreKey, at next: StoreRevision) {
        if let lease = entries.removeValue(forKey: key)?.lease { leases[lease]?.keys.remove(key) }
        history.append(StoreChange(key: key, revision: next, entry: nil))
    }

    private func nextRevision() throws(StoreError) -> StoreRevision {
        let next = revision.rawValue + 1
        try file?.reserve(next)
        return StoreRevision(rawValue: next)
    }

    private func announce(_ next: StoreRevision) {
        revision = next
        while history.count > Self.historyLimit, let first = history.popFirst() { oldest = first.revision }
        // What remains of a change that was taken out in part isn't the whole of it.
        while let first = history.first, first.revision <= oldest { history.removeFirst() }
        wake()
    }

    private func wake() { arrival.settle() }
}

/// Runs an actor on a queue of Dispatch's, and so on no thread that other actors need.
private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "coordinators.epochs")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
