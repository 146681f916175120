import CProcess
import Glibc
import Synchronization

/// This process as the subreaper of the processes below it (PR_SET_CHILD_SUBREAPER of prctl(2)): orphans come to it, and it waits for their
/// ends.
///
/// The subreaper never takes the exit status of a child that `ProcessSpawner.shared` has spawned. Children that were spawned by other
/// means, such as system(3), would lose theirs, so this is only for programs that are supervisors and nothing else.
package enum Subreaper {
    private static let hasBegun = Atomic(false)
    /// An eventfd that is written at each spawn; -1 before `begin()`.
    private static let spawns = Atomic<Int32>(-1)

    static var isActive: Bool { hasBegun.load(ordering: .acquiring) }

    /// Makes orphans come to this process from now on, for as long as it lives.
    package static func becomeSubreaper() throws(ProcessError) {
        guard !hasBegun.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let descriptor = coordinator_process_event_descriptor()
        guard descriptor >= 0 else {
            hasBegun.store(false, ordering: .releasing)
            throw ProcessError(-descriptor, action: "make an eventfd for orphans")
        }
        spawns.store(descriptor, ordering: .releasing)
        let result = coordinator_process_become_subreaper()
        guard result >= 0 else {
            hasBegun.store(false, ordering: .releasing)
            throw ProcessError(-result, action: "become a subreaper")
        }
        let started = coordinator_process_start_thread({ _ in Subreaper.run() }, nil)
        guard started >= 0 else { throw ProcessError(-started, action: "start the thread that waits for orphans") }
    }

    /// Sleeps in the kernel until a child has ended, and reaps it unless it was spawned here.
    private static func run() {
        while true {
            let ended = coordinator_process_ended_child()
            if ended > 0, ProcessSpawner.shared.reapUnlessSpawned(ended) { continue }
            // A spawned child has ended, whose own thread reaps it in a moment; or there are no children.
            if ended <= 0 { waitForSpawn() } else { usleep(2_000) }
        }
    }

    /// Wakes the waiting thread, since there is a child to wait for.
    static func childSpawned() {
        let descriptor = spawns.load(ordering: .acquiring)
        if descriptor >= 0 { SystemCalls.live.wake(descriptor) }
    }

    private static func waitForSpawn() {
        var descriptor = pollfd(fd: spawns.load(ordering: .acquiring), events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, -1)
        var count: UInt64 = 0
        _ = read(descriptor.fd, &count, 8)
    }
}
