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
    /// Each process is looked at first, and signalled through its pidfd, so that nobody is hit who was not seen to belong to a family. The
    /// number of a group is taken for its family's as long as nobody else is seen to have it: whoever has waited for the leader ends its
    /// family before the number can have gone round.
    ///
    /// - Parameters:
    ///   - deadline: when to give up. While it can't be seen what is there, such as for want of descriptors, this goes on looking.
    ///   - areRemembered: the families are known from a file, and their numbers may have gone round: members of a group or session are
    ///     ended only if the leader was seen alive, or they carry the family's entry.
    ///   - killed: told of those that are killed.
    /// - Returns: those that live on: the deadline has passed, or they belong to a user whom we may not signal.
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
        return await end(by: deadline, killed: killed) { () async throws(ProcessError) in
            var found: [ProcessIdentity] = []
            for family in families {
                if try family.leader.statistics(.live) != nil { certain.insert(family) }
                found += try family.ledBy(isCertain: certain.contains(family))
            }
            return found + (try await Orphans.shared.carrying(entries))
        }
    }

    /// Kills what is found until nothing is found any more.
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
                found = Set(try await find()).subtracting(untouchable)
            } catch {
                // Whoever can't look hasn't seen that nothing is there.
                await pause(lookAgain)
                continue
            }
            if found.isEmpty {
                // One that was killed may have forked in its last moment.
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

    /// How long until one looks again after it was impossible.
    private static let lookAgain = Duration.milliseconds(100)

    /// Sleeps, also in a task that is cancelled: what is left is to be ended all the same.
    static func pause(_ duration: Duration) async {
        await Task { try? await Task.sleep(for: duration) }.value
    }

    /// - Returns: those that end now, or have ended.
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

    /// The leader, and the members of its group and session.
    ///
    /// - Parameter isCertain: the group that has the leader's number is its own; otherwise its members have to carry the entry.
    private func ledBy(isCertain: Bool) throws(ProcessError) -> [ProcessIdentity] {
        let number = leader.processID
        var found: [ProcessIdentity] = try leader.statistics(.live)?.isZombie == false ? [leader] : []
        // Most of the time nobody is there, and the kernel says so at once. To kill(2), 0 and -1 mean something else.
        guard number > 1, Glibc.kill(-number, 0) == 0 || errno == EPERM else { return found }
        // The number is somebody else's by now, so our group is long gone.
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
