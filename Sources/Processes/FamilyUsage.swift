import ConcurrencySupport

/// What processes have used together with all that descends from them: the workers of a server that forks them count as that server does.
///
/// A descendant belongs to the process in whose session it is, and one that has left that session to the nearest of the processes above it.
/// Pages that several processes share are counted for each of them.
package struct FamilyUsage: Sendable {
    /// The sum of one family.
    package struct Sum: Sendable, Equatable {
        /// The processor time and the memory of all, and the time at which the first process began.
        ///
        /// The time of processes that have ended counts as long as the family has waited for them.
        package var usage: ProcessUsage
        /// The number of processes.
        package var count = 0
    }

    /// The sums by the numbers of the first processes; those of processes that are gone are missing.
    package private(set) var sums: [Int32: Sum] = [:]

    fileprivate struct Entry {
        let parent: Int32
        let session: Int32
        let usage: ProcessUsage
        let waitedTicks: UInt64
    }

    /// Looks at all processes once.
    ///
    /// - Parameters:
    ///   - leaders: The first processes of the families.
    ///   - alone: Those of them that count by themselves: what else is below a supervisor is of others, or on its way out.
    package init(of leaders: Set<Int32>, alone: Set<Int32> = []) {
        var entries: [Int32: Entry] = [:]
        if leaders.isSubset(of: alone) {
            for leader in leaders { entries[leader] = Entry(of: leader) }
        } else {
            for number in (try? ProcessTable.numbers()) ?? [] { entries[number] = Entry(of: number) }
        }
        // A process that waits for the tree's own processes has their time among that of its children.
        let parents = Set(leaders.compactMap { entries[$0]?.parent })
        var owners: [Int32: Int32?] = [:]
        func owner(of number: Int32, _ depth: Int = 0) -> Int32? {
            if leaders.contains(number) { return number }
            if let known = owners[number] { return known }
            guard let entry = entries[number], depth < 1_000 else { return nil }
            let owner = leaders.contains(entry.session) ? entry.session : owner(of: entry.parent, depth + 1)
            owners[number] = owner
            return owner
        }
        for (number, entry) in entries {
            guard let owner = owner(of: number), number == owner || !alone.contains(owner), let start = entries[owner]?.usage.startTime
            else { continue }
            var sum = sums[owner] ?? Sum(usage: ProcessUsage(ticks: 0, residentBytes: 0, startTime: start))
            sum.usage.ticks = sum.usage.ticks.addingSaturating(entry.usage.ticks)
            if !parents.contains(number), !alone.contains(owner) { sum.usage.ticks = sum.usage.ticks.addingSaturating(entry.waitedTicks) }
            sum.usage.residentBytes = sum.usage.residentBytes.addingSaturating(entry.usage.residentBytes)
            sum.count += 1
            sums[owner] = sum
        }
    }

    /// Returns the memory of a family that was looked at in the last half second, or is looked at now; nil when its first process is gone.
    ///
    /// Families share a look, since it costs some time for each process of the machine.
    ///
    /// - Parameter others: The first processes of families below that one, which count by themselves.
    package static func residentBytes(of leader: ProcessIdentity, without others: Set<Int32> = []) -> Int? {
        let number = leader.processID
        let sum = recent.withLock { recent -> Sum? in
            let own = others.union([number])
            recent.wanted.formUnion(own)
            if recent.until < .now || recent.usage?.sums[number] == nil || !others.isSubset(of: recent.leaders) {
                recent.wanted.formIntersection(own.union(recent.usage.map { Array($0.sums.keys) } ?? []))
                recent.leaders = recent.wanted
                recent.usage = FamilyUsage(of: recent.wanted)
                recent.until = .now + .milliseconds(500)
            }
            return recent.usage?.sums[number]
        }
        guard let usage = sum?.usage, usage.startTime == leader.startTime else { return nil }
        return Int(clamping: usage.residentBytes)
    }

    private struct Recent {
        var wanted: Set<Int32> = []
        /// The first processes of the families at the last look.
        var leaders: Set<Int32> = []
        var usage: FamilyUsage?
        var until = MonotonicTime.now
    }

    private static let recent = Lock(Recent())
}

extension FamilyUsage.Entry {
    fileprivate init?(of number: Int32) {
        guard let stat = ProcessUsage.fields(of: number), let usage = ProcessUsage(stat) else { return nil }
        // Fields 4, 6, 16 and 17 of proc_pid_stat(5), counted from the third.
        guard stat.count > 14, let parent = Int32(stat[1]), let session = Int32(stat[3]) else { return nil }
        self.init(parent: parent, session: session, usage: usage, waitedTicks: (UInt64(stat[13]) ?? 0) + (UInt64(stat[14]) ?? 0))
    }
}
