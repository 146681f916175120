import ConcurrencySupport
import Glibc

/// Finds what descends from a process that has ended: its orphans, which the kernel gives to the nearest subreaper above, or to the first
/// process of all.
final class Orphans: Sendable {
    static let shared = Orphans()

    private struct State {
        /// Processes that carry no entry of ours, and when they were looked at.
        ///
        /// They never will: a mark is inherited, or isn't there.
        var strangers: Set<Int32> = []
        var lookedAt = ContinuousClock.now
    }

    /// How long a stranger's number is believed to be a stranger's: numbers go round, but not that fast.
    private static let memory = Duration.seconds(1)

    private let state = Lock(State())

    /// The orphans that carry one of the entries, with everything below them.
    ///
    /// This reads the environment of the orphans that have come since the last time, and looks at no other process.
    func carrying(_ entries: Set<String>) async throws(ProcessError) -> [ProcessIdentity] {
        let entries = entries.subtracting([""])
        if entries.isEmpty { return [] }
        return try await Scan.untilSettled { dead throws(ProcessError) in
            var scan = Scan()
            for candidate in try self.candidates() {
                scan.count(candidate, try self.look(at: candidate, for: entries, &dead))
            }
            return scan
        }
    }

    /// The orphans that have come to this process, with everything below them.
    func inherited() async throws(ProcessError) -> [ProcessIdentity] {
        try await Scan.untilSettled { dead throws(ProcessError) in
            var scan = Scan()
            for orphan in ProcessSpawner.shared.withoutSpawned(try ProcessTable.children(of: getpid())) {
                scan.count(orphan, try Self.look(at: orphan, &dead))
            }
            return scan
        }
    }

    private func candidates() throws(ProcessError) -> [Int32] {
        let here = getpid()
        let comeHere = Subreaper.isActive || here == 1
        var children: [Int32] = []
        for parent in comeHere ? [here] : try ProcessTable.ancestors() { children += try ProcessTable.children(of: parent) }
        // Elsewhere no child of ours can be.
        if comeHere { children = ProcessSpawner.shared.withoutSpawned(children) }
        return state.withLock { state in
            let now = ContinuousClock.now
            if now - state.lookedAt > Self.memory { state.strangers = [] }
            if state.strangers.isEmpty { state.lookedAt = now }
            return children.filter { $0 != here && !state.strangers.contains($0) }
        }
    }

    private func note(_ stranger: Int32) {
        state.withLock { _ = $0.strangers.insert(stranger) }
    }
}

extension Orphans {
    /// A process that lives is sought.
    private static func look(at candidate: Int32, _ dead: inout Set<ProcessIdentity>) throws(ProcessError) -> Scan.Look {
        guard let (identity, isZombie) = try ProcessTable.life(of: candidate) else { return .unsettled }
        guard isZombie else { return .sought }
        // What it has forked was given away when it died: that was listed, if it was dead before.
        return dead.insert(identity).inserted ? .unsettled : .stranger
    }

    /// A process that lives and carries one of the entries is sought.
    private func look(at candidate: Int32, for entries: Set<String>, _ dead: inout Set<ProcessIdentity>) throws(ProcessError) -> Scan.Look {
        let presence = try Self.look(at: candidate, &dead)
        guard presence == .sought else { return presence }
        switch ProcessTable.environment(of: candidate) {
        case .bytes([]):
            return ProcessTable.isWithoutEnvironment(candidate) ? .stranger : .unsettled
        case .bytes(let environment):
            // The environment was that process's, if it's still there.
            guard try ProcessTable.life(of: candidate)?.isZombie == false else { return .unsettled }
            // Who has another mark may be sought by somebody else.
            if let mark = ProcessMark.mark(in: environment) { return entries.isDisjoint(with: mark.entries) ? .stranger : .sought }
        case .absent:
            return .unsettled
        case .hidden:
            break
        case .failed(let errno):
            throw ProcessError(errno, action: "read the environment of process \(candidate)")
        }
        note(candidate)
        return .stranger
    }
}

/// What looking at all processes that may be sought brought.
private struct Scan {
    /// What a look at a process brought.
    enum Look {
        case sought, stranger
        /// It has come or gone meanwhile: what it has forked may not have been listed.
        case unsettled
    }

    /// How long is looked again for processes that come and go while they are looked at.
    private static let patience = Duration.seconds(5)

    private(set) var sought: [Int32] = []
    private var isSettled = true

    mutating func count(_ candidate: Int32, _ look: Look) {
        switch look {
        case .sought: sought.append(candidate)
        case .stranger: break
        case .unsettled: isSettled = false
        }
    }

    /// Looks again until something is found, or nothing is and nobody has come or gone meanwhile: a process that forks and ends while it is
    /// looked at leaves one that wasn't listed.
    ///
    /// - Parameter scan: is told which processes were dead already before it lists any.
    /// - Returns: what is sought and lives, with everything below it.
    static func untilSettled(_ scan: (_ dead: inout Set<ProcessIdentity>) throws(ProcessError) -> Scan) async throws(ProcessError)
        -> [ProcessIdentity]
    {
        let limit = ContinuousClock.now + patience
        var dead: Set<ProcessIdentity> = []
        var scans = 0
        var settled = 0
        while true {
            let result = try scan(&dead)
            let found = try ProcessTable.living(try ProcessTable.subtrees(of: result.sought))
            if !found.isEmpty || ContinuousClock.now >= limit { return found }
            settled = result.isSettled && result.sought.isEmpty ? settled + 1 : 0
            // The kernel's list may lack one while another is reaped: where somebody has come or gone, a second one must agree.
            if settled == (scans == 0 ? 1 : 2) { return [] }
            scans += 1
            // At once the first times: whoever comes and goes fast must be caught.
            if scans > 3 { await ProcessFamily.pause(.milliseconds(2)) }
        }
    }
}

/// What a runtime that was killed has left.
package enum Strays {
    /// Kills all processes whose mark has an entry that is sought, wherever they are, with everything below them; returns when none is left.
    ///
    /// This looks at every process that there is; this one, and those above it, are spared.
    ///
    /// - Parameter killed: told of those that are killed.
    /// - Returns: those that live on at the deadline.
    package static func end(
        by deadline: ContinuousClock.Instant,
        where isSought: (_ entry: String) -> Bool,
        killed: (Set<ProcessIdentity>) -> Void = { _ in }
    ) async -> [ProcessIdentity] {
        await ProcessFamily.end(by: deadline, killed: killed) { () async throws(ProcessError) in
            // Those that were seen to be others' never carry a mark that is sought, and what they fork doesn't either.
            var strangers: Set<Int32> = []
            return try await Scan.untilSettled { dead throws(ProcessError) in
                let spared = Set(try ProcessTable.ancestors() + [getpid()])
                var scan = Scan()
                // The last to come are the first to go: they are looked at first, and nobody twice.
                for number in try ProcessTable.numbers().reversed() where !spared.contains(number) && !strangers.contains(number) {
                    let look = try look(at: number, &dead, where: isSought)
                    if look == .stranger { strangers.insert(number) }
                    scan.count(number, look)
                }
                return scan
            }
        }
    }

    private static func look(
        at number: Int32,
        _ dead: inout Set<ProcessIdentity>,
        where isSought: (_ entry: String) -> Bool
    ) throws(ProcessError) -> Scan.Look {
        guard let statistics = try ProcessTable.statistics(of: number) else { return .unsettled }
        let identity = ProcessIdentity(processID: number, startTime: statistics.startTime)
        // What it has forked is listed, if it was dead before.
        if statistics.isZombie { return dead.insert(identity).inserted ? .unsettled : .stranger }
        switch ProcessTable.environment(of: number) {
        case .bytes([]), .absent:
            // Process 2 is the kernel's, and so are its children: they have none, and live on.
            let isKernels = number == 2 || statistics.parentID == 2
            return isKernels || ProcessTable.isWithoutEnvironment(number) ? .stranger : .unsettled
        case .bytes(let environment):
            guard ProcessMark.mark(in: environment)?.entries.contains(where: isSought) == true else { return .stranger }
            // The environment was that process's, if it's still there.
            return identity.isAlive ? .sought : .unsettled
        case .hidden:
            return .stranger
        case .failed(let errno):
            throw ProcessError(errno, action: "read the environment of process \(number)")
        }
    }

    /// Kills everything that descends from this process by way of orphans that have come to it, which only happens to a subreaper.
    @discardableResult
    package static func endInherited() async -> [ProcessIdentity] {
        await ProcessFamily.end(by: nil) { () async throws(ProcessError) in
            Subreaper.isActive ? try await Orphans.shared.inherited() : []
        }
    }
}
