import Glibc
import Synchronization

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

    private let state = Mutex(State())

    /// The orphans that carry one of the entries, with everything below them.
    ///
    /// This reads the environment of the orphans that have come since the last time, and looks at no other process.
    func carrying(_ entries: Set<String>) -> [ProcessIdentity] {
        let entries = entries.subtracting([""])
        if entries.isEmpty { return [] }
        let carriers = candidates.filter { candidate in
            guard let identity = ProcessIdentity(processID: candidate), let mark = ProcessMark.of(candidate) else {
                note(candidate)
                return false
            }
            // The mark was that process's, if it's still there.
            return !entries.isDisjoint(with: mark.entries) && identity.isAlive
        }
        return ProcessTable.subtrees(of: carriers).compactMap { ProcessIdentity(processID: $0) }.filter(\.isAlive)
    }

    /// The orphans that have come to this process, with everything below them.
    var inherited: [ProcessIdentity] {
        let orphans = Set(ProcessTable.children(of: getpid())).subtracting(ProcessSpawner.shared.spawned)
        return ProcessTable.subtrees(of: Array(orphans)).compactMap { ProcessIdentity(processID: $0) }.filter(\.isAlive)
    }

    private var candidates: [Int32] {
        let here = getpid()
        let comeHere = Subreaper.isActive || here == 1
        let parents = comeHere ? [here] : ProcessTable.ancestors
        let children = parents.flatMap { ProcessTable.children(of: $0) }
        // The lock behind this is held while a process is spawned; elsewhere no child of ours can be.
        let spawned = comeHere ? ProcessSpawner.shared.spawned : []
        return state.withLock { state in
            let now = ContinuousClock.now
            if now - state.lookedAt > Self.memory { state.strangers = [] }
            if state.strangers.isEmpty { state.lookedAt = now }
            return children.filter { $0 != here && !state.strangers.contains($0) && !spawned.contains($0) }
        }
    }

    private func note(_ stranger: Int32) {
        state.withLock { _ = $0.strangers.insert(stranger) }
    }
}

/// What a runtime that was killed has left.
package enum Strays {
    /// Kills all processes whose mark has an entry that is sought, wherever they are; returns when none is left.
    ///
    /// This looks at every process that there is; this one, and those above it, are spared.
    ///
    /// - Returns: those that live on at the deadline.
    package static func end(by deadline: ContinuousClock.Instant, where isSought: (_ entry: String) -> Bool) async -> [ProcessIdentity] {
        await ProcessFamily.end(by: deadline) {
            let spared = Set(ProcessTable.ancestors + [getpid()])
            return ProcessTable.numbers.compactMap { number in
                guard !spared.contains(number), let identity = ProcessIdentity(processID: number),
                    let mark = ProcessMark.of(number), mark.entries.contains(where: isSought), identity.isAlive
                else { return nil }
                return identity
            }
        }
    }

    /// Kills everything that descends from this process by way of orphans that have come to it, which only happens to a subreaper.
    @discardableResult
    package static func endInherited() async -> [ProcessIdentity] {
        await ProcessFamily.end(by: nil) { Subreaper.isActive ? Orphans.shared.inherited : [] }
    }
}
