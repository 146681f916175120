package import ConcurrencySupport
import Glibc

/// A process that was spawned, with all its descendants: its process group, its session, and every process that carries its mark.
///
/// A process that is spawned here leads a session and a group of its own number, and the kernel doesn't reuse a number as long as a group
/// or a session has it.
package struct ProcessFamily: Sendable, Hashable {
    /// The process that was spawned.
    package let leader: ProcessIdentity
    /// The entry of the mark that its spawn has added; empty: none is known, and the family is the leader alone.
    ///
    /// A worker of another user has reported such a family. Nothing shows that its leader was spawned in this tree, so the other members of
    /// its group and session may be any processes.
    package let entry: String

    /// Creates a family, whose values may come from another process or a file.
    package init(leader: ProcessIdentity, entry: String) {
        self.leader = leader
        self.entry = entry
    }

    /// Kills all remaining processes of some families, and returns when none is left.
    ///
    /// The current process and those above it are spared. Each process is examined first, and signalled through its pidfd, so that no process is killed that wasn't seen to belong to a
    /// family. The number of a group is taken for its family's as long as no other group is seen to have it: a caller that has waited for
    /// the leader ends its family before the number can have been reused.
    ///
    /// - Parameters:
    ///   - deadline: The time to give up. While the processes can't be examined, such as for want of descriptors, this tries again.
    ///   - areRemembered: Whether the families are known from a file, so that their numbers may have been reused: members of a group or
    ///     session are then ended only if the leader was seen alive, or they carry the family's entry.
    ///   - killed: A function that gets the processes that are killed.
    /// - Returns: The processes that still live: the deadline has passed, or they belong to another user, whose processes this one may not
    ///   signal.
    @discardableResult
    package static func end(
        _ families: some Collection<ProcessFamily>,
        by deadline: ContinuousClock.Instant? = nil,
        areRemembered: Bool = false,
        killed: (Set<ProcessIdentity>) -> Void = { _ in }
    ) async -> [ProcessIdentity] {
        let families = Array(families)
        let entries = Set(families.map(\.entry))
        var certain = areRemembered ? [] : Set(families)
        let groups = entries.compactMap { ControlGroup.existing(for: $0) }
        defer { for group in groups { group.remove() } }
        return await end(by: deadline, killed: killed) { () async throws(ProcessError) in
            var found: [ProcessIdentity] = []
            for group in groups {
                found += try ProcessTable.living(group.processes)
                // Everything at once, also what forks all the time; the search goes on for what isn't in the group.
                group.kill()
            }
            for family in families {
                let leader = try family.leader.statistics(.live)
                if leader != nil { certain.insert(family) }
                found += try family.led(leader, isCertain: certain.contains(family))
            }
            return found + (try await Orphans.shared.carrying(entries))
        }
    }

    /// Asks what is left of a family whose leader has ended to end too: each process gets the signal and SIGCONT once.
    ///
    /// - Parameters:
    ///   - hasToldGroup: Whether the leader's group has had the signal before: its members don't get it a second time.
    ///   - deadline: The time to give up, extended by the time in which this process stands still.
    /// - Returns: Whether nothing is left; otherwise the deadline has passed, or the processes couldn't be examined.
    package func terminate(by signal: Signal, hasToldGroup: Bool, until deadline: PatientDeadline) async -> Bool {
        var deadline = deadline
        var told: Set<ProcessIdentity> = []
        var isSure = true
        while true {
            // A scan that failed doesn't show that nothing is there.
            guard let found = try? await living() else { return false }
            if found.isEmpty {
                // A process may have forked in its last moment.
                if isSure { break }
                isSure = true
                continue
            }
            isSure = false
            for process in found.subtracting(told) {
                let isOfGroup = (try? process.statistics(.live))?.groupID == leader.processID
                if !hasToldGroup || !isOfGroup { try? process.send(signal) }
                try? process.send(.continue)
            }
            told.formUnion(found)
            // What has ended by now is found above, so that nothing is judged by what was so before a stall.
            if deadline.look() { return false }
            await Self.waitForEnd(of: found, until: .now + (deadline.next - .now))
        }
        ControlGroup.existing(for: entry)?.remove()
        return true
    }

    /// The processes of a family whose leader has ended.
    private func living() async throws(ProcessError) -> Set<ProcessIdentity> {
        var found = try led(leader.statistics(.live), isCertain: true) + (try await Orphans.shared.carrying([entry]))
        if let group = ControlGroup.existing(for: entry) { found += try ProcessTable.living(group.processes) }
        return try Self.withoutThoseAbove(Set(found))
    }

    /// Kills the processes that are found until none is found any more.
    static func end(
        by deadline: ContinuousClock.Instant?,
        killed tell: (Set<ProcessIdentity>) -> Void = { _ in },
        _ find: () async throws(ProcessError) -> [ProcessIdentity]
    ) async -> [ProcessIdentity] {
        var untouchable: Set<ProcessIdentity> = []
        var hasKilled = false
        while true {
            let found: Set<ProcessIdentity>
            do throws(ProcessError) {
                found = try withoutThoseAbove(Set(try await find()).subtracting(untouchable))
            } catch {
                // A scan that failed doesn't show that nothing is there.
                await pause(lookAgain)
                continue
            }
            if found.isEmpty {
                // A killed process may have forked in its last moment.
                guard hasKilled else { return untouchable.filter(\.isAlive) }
                hasKilled = false
                continue
            }
            if let deadline, ContinuousClock.now >= deadline { return found.union(untouchable).filter(\.isAlive) }
            hasKilled = true
            let killed = kill(found, &untouchable)
            tell(killed)
            await waitForEnd(of: killed, until: deadline)
            if !found.isSubset(of: killed.union(untouchable)) { await pause(lookAgain) }
        }
    }

    /// Returns the processes without the current one and those above it, which are never a child's, whatever a report or a file says.
    private static func withoutThoseAbove(_ processes: Set<ProcessIdentity>) throws(ProcessError) -> Set<ProcessIdentity> {
        if processes.isEmpty { return processes }
        let spared = Set(try ProcessTable.ancestors() + [getpid()])
        return processes.filter { !spared.contains($0.processID) }
    }

    /// The pause after a scan that failed.
    private static let lookAgain = Duration.milliseconds(100)

    /// Sleeps, also in a task that is cancelled: the remaining processes are ended all the same.
    static func pause(_ duration: Duration) async {
        await Task { try? await Task.sleep(for: duration) }.value
    }

    /// Returns the processes that end now, or have ended.
    private static func kill(_ processes: Set<ProcessIdentity>, _ untouchable: inout Set<ProcessIdentity>) -> Set<ProcessIdentity> {
        processes.filter { process in
            do throws(ProcessError) {
                try process.send(.kill)
                return true
            } catch {
                if error.code == .permissionDenied { untouchable.insert(process) }
                return error.code == .noSuchProcess
            }
        }
    }

    private static func waitForEnd(of processes: Set<ProcessIdentity>, until deadline: ContinuousClock.Instant?) async {
        await withTaskGroup(of: Void.self) { group in
            let limit = deadline.map { deadline in
                // Not a child of the group, so that a caller that is cancelled waits as long.
                Task { try? await Task.sleep(until: deadline, clock: .continuous) }
            }
            group.addTask {
                await withDiscardingTaskGroup { waiting in
                    for process in processes { waiting.addTask { await process.waitUntilGone() } }
                }
            }
            if let limit { group.addTask { await limit.value } }
            _ = await group.next()
            limit?.cancel()
            group.cancelAll()
        }
    }

    /// Returns the leader, and the members of its group and session if the family has an entry.
    ///
    /// - Parameters:
    ///   - statistics: The leader's; `nil`: it's gone.
    ///   - isCertain: Whether the group that has the leader's number is certainly its own; otherwise its members must carry the
    ///     entry.
    private func led(_ statistics: ProcessStatistics?, isCertain: Bool) throws(ProcessError) -> [ProcessIdentity] {
        let number = leader.processID
        var found: [ProcessIdentity] = statistics?.isZombie == false ? [leader] : []
        // Most groups are empty, and the kernel reports that at once. To kill(2), 0 and -1 mean something else.
        guard !entry.isEmpty, number > 1, Glibc.kill(-number, 0) == 0 || errno == EPERM else { return found }
        // Another process has the number by now, so this family's group is long gone.
        if let holder = try ProcessTable.statistics(of: number), holder.startTime != leader.startTime { return found }
        for processID in try ProcessTable.numbers() {
            guard let statistics = try ProcessTable.statistics(of: processID), !statistics.isZombie,
                statistics.groupID == number || statistics.sessionID == number, statistics.startTime >= leader.startTime
            else { continue }
            if !isCertain, try ProcessMark.of(processID)?.entries.contains(entry) != true { continue }
            found.append(ProcessIdentity(processID: processID, startTime: statistics.startTime))
        }
        return found
    }
}
