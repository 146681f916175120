import ConcurrencySupport
import Glibc

/// The loop while another program is about to take the present one's place.
///
/// The thread that has spawned the children is the one that calls execve(2): it's the only thread that goes on, so the kernel doesn't send
/// the children their parent-death signal.
extension ProcessLoop {
    /// The milliseconds between two looks at the inbox of a loop that is held.
    private static let holdingInterval: Int32 = 1_000

    /// The time for which the loop waits until no child is about to become its program; the others don't survive the change.
    private static let launchingTime = Duration.seconds(1)

    /// Holds the loop: nothing is spawned, reaped or read any more, and stays in the kernel for the next program.
    ///
    /// - Returns: The children that live, with what is read of them: what a child writes last isn't lost with its end, in a FIFO either.
    func hold() -> [KeptProcess] {
        finishLaunches(within: Self.launchingTime)
        heldCommands = []
        return living
    }

    /// The children that live, with what is read of them.
    var living: [KeptProcess] {
        children.map { token, child in
            let ends = captures.values.filter { $0.child == token }
            return KeptProcess(
                identity: child.identity,
                ends: ends.map { KeptProcess.End(role: $0.end.role, descriptor: $0.descriptor, path: $0.end.path) }
            )
        }
    }

    /// Goes on, with the commands that have come meanwhile.
    func release() {
        let commands = heldCommands.take() ?? []
        for command in commands { run(command) }
    }

    /// Returns whether a command has to wait until the loop is released.
    func keepsWaiting(_ command: ProcessThread.Command) -> Bool {
        guard heldCommands != nil else { return false }
        switch command {
        case .release, .replace, .hold, .survey: return false
        case .spawn, .adopt, .watch, .cancelWatch, .killGroup, .endCapture, .readPending, .end:
            heldCommands?.append(command)
            return true
        }
    }

    /// Sleeps until a command comes.
    func waitForCommand() {
        var waiting = pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
        if Glibc.poll(&waiting, 1, Self.holdingInterval) > 0 { _ = systemCalls.read(wake, buffer) }
    }

    /// Replaces the program; returns only when that has failed.
    func replace(_ replacement: ProcessReplacement) -> ProcessError {
        ProcessError(-replacement.run(), action: "run \(replacement.executable) in place of this program")
    }
}

extension ProcessSpawner {
    /// Holds everything that concerns children, so that another program can take it over: nothing is spawned, reaped or read until
    /// ``release()``.
    ///
    /// - Returns: The children that live.
    package func hold() async throws(ProcessError) -> [KeptProcess] { try await children { .hold($0) } }

    /// Returns the children that live at present, and holds nothing.
    package func survey() async throws(ProcessError) -> [KeptProcess] { try await children { .survey($0) } }

    private func children(
        _ command: (CheckedContinuation<[KeptProcess], Never>) -> ProcessThread.Command
    ) async throws(ProcessError) -> [KeptProcess] {
        try prepare()
        return await withCheckedContinuation { continuation in
            do throws(ProcessError) {
                try thread.post(command(continuation))
            } catch {
                // The thread was made, and ends with the spawner.
                continuation.resume(returning: [])
            }
        }
    }

    /// Returns when the exits, the output and the messages of processes that were pending have been read and told.
    ///
    /// Whoever finds a deadline passed calls this before the verdict: this process may have stood still, and what came in time not been heard.
    package func readPending() async {
        await withCheckedContinuation { continuation in
            do throws(ProcessError) {
                try thread.post(.readPending(continuation))
            } catch {
                // A thread that has ended has read everything.
                continuation.resume()
            }
        }
    }

    /// Ends the hold: nothing that came meanwhile is lost.
    package func release() { try? thread.post(.release) }

    /// Runs another program in place of this one, in the same process; returns only when that has failed, and everything is as before.
    ///
    /// The thread that has spawned the children makes the call, so that they aren't sent their parent-death signal. All signals are blocked
    /// until the next program receives them.
    package func replace(by replacement: ProcessReplacement) async -> ProcessError {
        await withCheckedContinuation { continuation in
            do throws(ProcessError) {
                try thread.post(.replace(replacement, continuation))
            } catch {
                continuation.resume(returning: error)
            }
        }
    }

    /// Takes note of children that the former program in this process has spawned, so that their exit statuses wait for
    /// ``adopt(_:killsGroupAtExit:_:)``.
    package func expect(_ kept: [KeptProcess]) {
        thread.spawned.withLock { $0.formUnion(kept.map(\.identity.processID)) }
    }

    /// Takes over a child that the former program in this process has spawned, or a process that has ended, with its pipes; it may have ended
    /// meanwhile.
    ///
    /// - Throws: An error when the process is gone: what it has written last is delivered all the same.
    package func adopt(
        _ kept: KeptProcess,
        killsGroupAtExit: Bool,
        _ receivers: KeptReceivers
    ) async throws(ProcessError) -> ChildProcess {
        let adoption = Adoption(
            identity: kept.identity,
            output: .inherit,
            killsGroupAtExit: killsGroupAtExit,
            kept: (kept, receivers)
        )
        return try await adopt(adoption)
    }
}
