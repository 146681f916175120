import ConcurrencySupport

/// Starts child processes, all from one thread; see `ProcessThread` for why.
public final class ProcessSpawner: Sendable {
    /// The spawner that the whole program shares.
    ///
    /// Its thread is made by the first spawn and never ends.
    public static let shared = ProcessSpawner(systemCalls: .live)

    let thread: ProcessThread

    /// Creates a spawner with a thread of its own, which ends when the spawner is gone and its last child is too.
    ///
    /// This is for tests: with the parent-death signal on, only children of `shared` are safe.
    package init(systemCalls: SystemCalls) {
        thread = ProcessThread(systemCalls: systemCalls)
    }

    /// Makes the thread and its descriptors now, while descriptors are available.
    package func prepare() throws(ProcessError) { try thread.prepare() }

    deinit {
        // Refused when there is no thread; then there is nothing to end.
        try? thread.post(.end)
    }

    /// Starts a process, and returns when it runs the program.
    ///
    /// A failed exec is reported as an error.
    ///
    /// The file systems of its directory and its executable have ``ProcessSpecification/startLimit`` (10 seconds) to let it begin; after
    /// that the start has failed with `.startHangs`, and the process is killed, as soon as the kernel can do it.
    ///
    /// Any other failure leaves nothing behind: no process, no descriptor. A spawn is refused with `.outOfDescriptors` before the last 16
    /// descriptors of this process are gone. Cancellation has no effect: a process that was started is returned.
    public func spawn(_ specification: ProcessSpecification) async throws(ProcessError) -> ChildProcess {
        var resolved = specification
        if !specification.isResolved, !specification.attributes.isEmpty {
            resolved.resolve(try await Account.find(specification.attributes))
        }
        let specification = resolved
        if let subject = specification.subject { try await awaitHangingStart(of: subject, within: specification.startLimit) }
        let result: Result<ChildProcess, ProcessError> = await withCheckedContinuation { continuation in
            do throws(ProcessError) {
                try thread.post(.spawn(specification, continuation))
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Takes over a process that another one has started as a leader of its own session, such as this program in a former life.
    ///
    /// The handle serves as if the process had been spawned here, but before Linux 6.15 its exit status is ``ExitStatus/unknown``, and later
    /// only if its parent doesn't reap it. A failure changes nothing: the process lives on. Cancellation has no effect.
    ///
    /// - Parameters:
    ///   - output: The FIFO that the process writes to, and the function that gets its content from now on; any other destination leaves
    ///     the output where it goes.
    ///   - killsGroupAtExit: Whether the remaining members of the process's group are killed when it ends by itself.
    ///   - userID: The user as whom it was started; nil: that of this process.
    /// - Throws: `.noSuchProcess` when the process has ended, `.permissionDenied` when this one may not signal it,
    ///   `.invalidSpecification` when it doesn't lead a session.
    public func adopt(
        _ identity: ProcessIdentity,
        output: OutputDestination = .inherit,
        killsGroupAtExit: Bool = false,
        userID: UInt32? = nil
    ) async throws(ProcessError) -> ChildProcess {
        try await adopt(Adoption(identity: identity, output: output, killsGroupAtExit: killsGroupAtExit, userID: userID))
    }

    func adopt(_ adoption: Adoption) async throws(ProcessError) -> ChildProcess {
        let result: Result<ChildProcess, ProcessError> = await withCheckedContinuation { continuation in
            do throws(ProcessError) {
                try thread.post(.adopt(adoption, continuation))
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Returns the children that were not spawned here, or have been reaped.
    ///
    /// Call this after listing the children: one that is spawned later isn't in the list. The lock is held while a process is spawned.
    func withoutSpawned(_ children: [Int32]) -> [Int32] {
        thread.spawned.withLock { spawned in children.filter { !spawned.contains($0) } }
    }

    /// Takes the exit status of a child that has ended, unless it was spawned here.
    func reapUnlessSpawned(_ processID: Int32) -> Bool {
        thread.spawned.withLock { spawned in
            guard !spawned.contains(processID) else { return false }
            return thread.systemCalls.reapNumber(processID, false) != 0
        }
    }
}
