import CProcess
import Glibc

/// The settings that a process makes for itself: a worker when it starts, and every process with a runtime.
///
/// A worker is spawned by its parent's ``ProcessSpawner``.
public enum WorkerProcess {
    /// Makes the kernel kill this process when its parent ends, and checks that the parent has not ended before that.
    ///
    /// The kernel keeps this setting per thread, on both sides. It is lost when the thread that made it ends, so this must be called on the
    /// main thread: in an asynchronous `main`, before the first `await`, since on Linux the main actor has other threads after it. And the
    /// signal is sent when the *thread* that spawned this process ends, so `ProcessSpawner` spawns from a thread that never does. See
    /// PR_SET_PDEATHSIG(2const). A launcher, such as a shell, may stand between: then the signal comes when the launcher ends, and the
    /// parent's end ends the launcher if it was spawned with `diesWithParent` and runs nothing with privileges of its own.
    /// - Parameter parentProcessID: The number of the process that spawned this one, from that process itself; `getppid()` alone doesn't
    ///   suffice, since an orphan gets a new parent.
    /// - Throws: `.parentIsGone` when the parent has ended: exit at once. `.wrongThread` when the caller isn't the main thread: nothing was
    ///   changed.
    public static func armParentDeathSignal(expecting parentProcessID: Int32) throws(ProcessError) {
        try armParentDeathSignal(expecting: parentProcessID, isMainThread: coordinator_process_is_main_thread() == 1)
    }

    static func armParentDeathSignal(expecting parentProcessID: Int32, isMainThread: Bool) throws(ProcessError) {
        guard isMainThread else {
            throw ProcessError(
                code: .wrongThread,
                errno: EINVAL,
                message: "Could not arm the parent-death signal: it would be lost when this thread ends. Call it on the main thread."
            )
        }
        let result = coordinator_process_set_parent_death_signal(SIGKILL)
        guard result >= 0 else { throw ProcessError(-result, action: "arm the parent-death signal") }
        // The check comes after arming: a parent that ends between check and arming would be missed.
        let parent = getppid()
        guard isBelow(parentProcessID) else {
            throw ProcessError(
                code: .parentIsGone,
                errno: ESRCH,
                message: "The parent process \(parentProcessID) of process \(getpid()) has ended; its parent is \(parent) now. "
                    + "End this process: it has no supervisor."
            )
        }
    }

    /// Returns whether a process is above this one: its parent, or the parent of a launcher that stands between.
    public static func isBelow(_ processID: Int32) -> Bool {
        var next = getppid()
        // The chain is read while it may change; the bound ends the loop when a reused number makes a circle.
        for _ in 0..<64 where next > 1 {
            if next == processID { return true }
            next = (try? ProcessTable.statistics(of: next))?.parentID ?? 0
        }
        return next == processID
    }

    /// Makes a write to a closed pipe or socket an error (EPIPE) instead of the end of this process.
    ///
    /// Children are not affected.
    public static func ignoreBrokenPipes() {
        coordinator_process_ignore_broken_pipes()
    }
}

extension WorkerProcess {
    /// The parent-death signal of the calling thread; 0 for none.
    static var parentDeathSignal: Int32 { coordinator_process_parent_death_signal() }
}
