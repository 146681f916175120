import ConcurrencySupport
import Glibc

/// Finds the descendants of processes that have ended: orphans, which the kernel gives to the nearest subreaper above, or to the first
/// process of all.
final class Orphans: Sendable {
    static let shared = Orphans()

    private struct State {
        /// Processes that carry none of this program's entries, and when they were examined.
        ///
        /// Such a process never gets one later: a mark is inherited at birth or missing.
        var strangers: Set<Int32> = []
        var lookedAt = ContinuousClock.now
        /// The processes above this one when they were first asked for, with the lists of their children; `nil`: they weren't.
        ///
        /// When one of them ends, what was below it goes to another of them.
        var ancestors: [Parent]?
    }

    /// A process to which orphans may come.
    private struct Parent {
        let processID: Int32
        /// The list of its children, unless it couldn't be opened.
        let list: ChildList?

        init(_ processID: Int32) { (self.processID, list) = (processID, ChildList(of: processID)) }
    }

    /// The time for which a number that belonged to an unrelated process is taken as still belonging to it: numbers are reused, but not
    /// that fast.
    private static let memory = Duration.seconds(1)

    private let state = Lock(State())

    /// Returns the orphans that carry one of the entries, with everything below them.
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

    /// Returns the orphans that have come to this process, with everything below them.
    func inherited() async throws(ProcessError) -> [ProcessIdentity] {
        try await Scan.untilSettled { dead throws(ProcessError) in
            var scan = Scan()
            for orphan in ProcessSpawner.shared.withoutSpawned(try ProcessTable.orphans(of: getpid())) {
                scan.count(orphan, try Self.look(at: orphan, &dead))
            }
            return scan
        }
    }

    private func candidates() throws(ProcessError) -> [Int32] {
        let here = getpid()
        let comeHere = Subreaper.isActive || here == 1
        var children: [Int32] = []
        if comeHere {
            // Spawned children can only be here.
            children = ProcessSpawner.shared.withoutSpawned(try ProcessTable.orphans(of: here))
        } else {
            for parent in try ancestors() { children += try ProcessTable.orphans(of: parent.processID, listedIn: parent.list) }
        }
        return state.withLock { state in
            let now = ContinuousClock.now
            if now - state.lookedAt > Self.memory { state.strangers = [] }
            if state.strangers.isEmpty { state.lookedAt = now }
            return children.filter { $0 != here && !state.strangers.contains($0) }
        }
    }

    private func ancestors() throws(ProcessError) -> [Parent] {
        if let known = state.withLock({ $0.ancestors }) { return known }
        let ancestors = try ProcessTable.ancestors().map { Parent($0) }
        state.withLock { $0.ancestors = ancestors }
        return ancestors
    }

    private func rememberStranger(_ stranger: Int32) {
        state.withLock { _ = $0.strangers.insert(stranger) }
    }
}

extension Orphans {
    /// Examines a process: every living one is sought.
    private static func look(at candidate: Int32, _ dead: inout Set<ProcessIdentity>) throws(ProcessError) -> Scan.Look {
        guard let (identity, isZombie) = try ProcessTable.life(of: candidate) else { return .unsettled }
        guard isZombie else { return .sought }
        // Its children were given to another parent when it died: they were listed, if it was dead before.
        return dead.insert(identity).inserted ? .unsettled : .stranger
    }

    /// Examines a process: a living one that carries one of the entries is sought.
    private func look(at candidate: Int32, for entries: Set<String>, _ dead: inout Set<ProcessIdentity>) throws(ProcessError) -> Scan.Look {
        let presence = try Self.look(at: candidate, &dead)
        guard presence == .sought else { return presence }
        switch ProcessTable.environment(of: candidate) {
        case .bytes([]):
            return ProcessTable.isWithoutEnvironment(candidate) ? .stranger : .unsettled
        case .bytes(let environment):
            // The environment was that process's, if the process is still there.
            guard try ProcessTable.life(of: candidate)?.isZombie == false else { return .unsettled }
            // A process with another mark may belong to another runtime.
            if let mark = ProcessMark.mark(in: environment) { return entries.isDisjoint(with: mark.entries) ? .stranger : .sought }
        case .absent:
            return .unsettled
        case .hidden:
            break
        case .failed(let errno):
            throw ProcessError(errno, action: "read the environment of process \(candidate)")
        }
        rememberStranger(candidate)
        return .stranger
    }
}

/// The result of examining all processes that may be sought.
private struct Scan {
    /// The result of examining one process.
    enum Look {
        case sought, stranger
        /// The process has started or ended meanwhile: its children may not have been listed.
        case unsettled
    }

    /// The time for which the scan is repeated while processes start and end during it.
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

    /// Repeats a scan until something is found, or nothing is found and no process has started or ended meanwhile: a process that forks and
    /// ends during the scan leaves a child that wasn't listed.
    ///
    /// - Parameter scan: The scan. It gets the processes that were dead already before it lists any.
    /// - Returns: The sought processes that live, with everything below them.
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
            // The kernel's list may lack a process while another is reaped: where processes have started or ended, a second scan must
            // agree.
            if settled == (scans == 0 ? 1 : 2) { return [] }
            scans += 1
            // Without a pause the first times, to find processes that fork and end quickly.
            if scans > 3 { await ProcessFamily.pause(.milliseconds(2)) }
        }
    }
}

/// The processes that a killed runtime has left behind.
package enum LeftoverProcesses {
    /// Kills all processes whose mark has an entry that is sought, wherever they are, with everything below them; returns when none is left.
    ///
    /// This examines every process on the machine; the current process and those above it are spared.
    ///
    /// - Parameters:
    ///   - marks: Entries of which a process that has one is left alone.
    ///   - killed: A function that gets the processes that are killed.
    /// - Returns: The processes that still live at the deadline.
    package static func end(
        by deadline: ContinuousClock.Instant,
        where isSought: (_ entry: String) -> Bool,
        sparing marks: Set<String> = [],
        killed: (Set<ProcessIdentity>) -> Void = { _ in }
    ) async -> [ProcessIdentity] {
        await ProcessFamily.end(by: deadline, killed: killed) { () async throws(ProcessError) in
            // Processes that were found to be unrelated never carry a sought mark, nor do their children.
            var strangers: Set<Int32> = []
            return try await Scan.untilSettled { dead throws(ProcessError) in
                let spared = Set(try ProcessTable.ancestors() + [getpid()])
                var scan = Scan()
                // The newest numbers are examined first, and no process twice.
                for number in try ProcessTable.numbers().reversed() where !spared.contains(number) && !strangers.contains(number) {
                    let look = try look(at: number, &dead, where: isSought, sparing: marks)
                    if look == .stranger { strangers.insert(number) }
                    scan.count(number, look)
                }
                return scan
            }
        }
    }

    /// Returns the mark of a process that has an entry that is sought; `nil` when no process has one.
    ///
    /// This examines every process on the machine once, except the current process and those above it.
    package static func mark(where isSought: (_ entry: String) -> Bool) throws(ProcessError) -> ProcessMark? {
        let spared = Set(try ProcessTable.ancestors() + [getpid()])
        for number in try ProcessTable.numbers() where !spared.contains(number) {
            // The environment of a process that is just replacing its program can't be read; another of its runtime's processes can.
            if let mark = try? ProcessMark.of(number), mark.entries.contains(where: isSought) { return mark }
        }
        return nil
    }

    private static func look(
        at number: Int32,
        _ dead: inout Set<ProcessIdentity>,
        where isSought: (_ entry: String) -> Bool,
        sparing marks: Set<String>
    ) throws(ProcessError) -> Scan.Look {
        guard let statistics = try ProcessTable.statistics(of: number) else { return .unsettled }
        let identity = ProcessIdentity(processID: number, startTime: statistics.startTime)
        // Its children are listed, if it was dead before.
        if statistics.isZombie { return dead.insert(identity).inserted ? .unsettled : .stranger }
        switch ProcessTable.environment(of: number) {
        case .bytes([]), .absent:
            // Process 2 is the kernel's, and so are its children: they have no environment, and are not touched.
            let isKernels = number == 2 || statistics.parentID == 2
            return isKernels || ProcessTable.isWithoutEnvironment(number) ? .stranger : .unsettled
        case .bytes(let environment):
            guard let entries = ProcessMark.mark(in: environment)?.entries, entries.contains(where: isSought) else { return .stranger }
            if !marks.isDisjoint(with: entries) { return .stranger }
            // The environment was that process's, if the process is still there.
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
