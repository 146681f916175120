import Glibc

/// A process that was spawned, with everything that descends from it: its process group, its session, and whoever carries its mark.
///
/// A process that is spawned here leads a session and a group of its own number, and the kernel doesn't use a number again as long as a
/// group or a session has it.
package struct ProcessFamily: Sendable, Hashable {
    /// The process that was spawned.
    package let leader: ProcessIdentity
    /// The entry of the mark that its spawn has added; empty: it was spawned by somebody who doesn't mark.
    package let entry: String

    /// A family that somebody else may have told of.
    package init(leader: ProcessIdentity, entry: String) {
        self.leader = leader
        self.entry = entry
    }

    /// Kills all that is left of some families, and returns when nothing is.
    ///
    /// No stranger is hit: each process is looked at first, and signalled through its pidfd.
    ///
    /// - Parameter deadline: when to give up.
    /// - Returns: those that live on: the deadline has passed, or they belong to a user whom we may not signal.
    @discardableResult
    package static func end(_ families: some Collection<ProcessFamily>, by deadline: ContinuousClock.Instant? = nil) async
        -> [ProcessIdentity]
    {
        let families = Array(families)
        return await end(by: deadline) { families.flatMap(\.ledBy) + Orphans.shared.carrying(Set(families.map(\.entry))) }
    }

    /// Kills what is found until nothing is found any more.
    static func end(by deadline: ContinuousClock.Instant?, _ find: () -> [ProcessIdentity]) async -> [ProcessIdentity] {
        var untouchable: Set<ProcessIdentity> = []
        while true {
            let found = Set(find()).subtracting(untouchable)
            if found.isEmpty { return untouchable.filter(\.isAlive) }
            if let deadline, ContinuousClock.now >= deadline { return found.union(untouchable).filter(\.isAlive) }
            for process in found {
                do throws(ProcessError) {
                    try process.send(.kill)
                } catch {
                    if error.code == .permissionDenied { untouchable.insert(process) }
                }
            }
            await waitForEnd(of: found.subtracting(untouchable), until: deadline)
        }
    }

    private static func waitForEnd(of processes: Set<ProcessIdentity>, until deadline: ContinuousClock.Instant?) async {
        await withTaskGroup(of: Void.self) { group in
            let limit = deadline.map { deadline in
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

    /// The leader, and the members of its group and session.
    var ledBy: [ProcessIdentity] {
        let number = leader.processID
        var found: [ProcessIdentity] = leader.isAlive ? [leader] : []
        // Most of the time nobody is there, and the kernel says so at once. To kill(2), 0 and -1 mean something else.
        guard number > 1, kill(-number, 0) == 0 || errno == EPERM else { return found }
        // The number is somebody else's by now, so our group is long gone.
        if let holder = ProcessTable.statistics(of: number), holder.startTime != leader.startTime { return found }
        for processID in ProcessTable.numbers {
            guard let statistics = ProcessTable.statistics(of: processID), !statistics.isZombie,
                statistics.groupID == number || statistics.sessionID == number, statistics.startTime >= leader.startTime
            else { continue }
            found.append(ProcessIdentity(processID: processID, startTime: statistics.startTime))
        }
        return found
    }
}
