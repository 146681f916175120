import ConcurrencySupport
import Glibc

/// A process to be adopted, and its surroundings.
struct Adoption: Sendable {
    let identity: ProcessIdentity
    let output: OutputDestination
    let killsGroupAtExit: Bool
    /// The user as whom the process was started; `nil`: this process's.
    var userID: UInt32?
    /// The process as another program has left it, in this process or in one that was killed, and what gets its output; `nil`: none has.
    var kept: (process: KeptProcess, receivers: KeptReceivers)?

    /// What is being done, for errors: it continues "could not".
    var action: String { "adopt process \(identity.processID)" }
}

extension ProcessLoop {
    /// Takes over a process that another one has started.
    ///
    /// When a step fails, nothing has changed: the process lives on, and its FIFO stays. A kept one isn't expected any more then, and what
    /// was read of it is closed.
    func adopt(_ adoption: Adoption) throws(ProcessError) -> ChildProcess {
        guard let kept = adoption.kept else { return try adopt(adoption, reading: []) }
        do throws(ProcessError) {
            return try adopt(adoption, reading: try kept.process.readingEnds(kept.receivers, systemCalls))
        } catch {
            stopExpecting(adoption.identity.processID)
            throw error
        }
    }

    private func adopt(_ adoption: Adoption, reading ends: [ReadingEnd]) throws(ProcessError) -> ChildProcess {
        let descriptor: Int32
        let isChild: Bool
        do throws(ProcessError) {
            (descriptor, isChild) = try openProcess(adoption)
        } catch {
            for end in ends { readRest(of: end) }
            throw error
        }
        do throws(ProcessError) {
            let token = nextToken()
            let capture = try openOutput(adoption, token)
            do throws(ProcessError) {
                try watch(descriptor, token, adoption)
            } catch {
                if let capture { stopReading(capture.value) }
                for end in ends { readRest(of: end) }
                throw error
            }
            if let capture { captures[capture.key] = capture.value }
            let registered = try register(ends, of: token, action: "\(adoption.action): watch its output")
            captures.merge(registered) { $1 }
            // One that isn't was expected as a child, and is another process's to reap.
            if isChild { claim(adoption.identity.processID) } else if adoption.kept != nil { forget(adoption.identity.processID) }
            let child = ChildProcess(
                identity: adoption.identity,
                descriptor: descriptor,
                token: token,
                userID: adoption.userID ?? geteuid(),
                killsGroupAtExit: adoption.killsGroupAtExit,
                isAdopted: !isChild,
                // A worker tells its end itself.
                isStatusWanted: adoption.kept != nil,
                thread: thread
            )
            children[token] = child
            return child
        } catch {
            systemCalls.close(descriptor)
            throw error
        }
    }

    /// Opens a pidfd, and checks that the process is one that this spawner could have started, and may signal.
    ///
    /// - Returns: The descriptor, and whether the process is a child of this one: a former program in this process has spawned it.
    private func openProcess(_ adoption: Adoption) throws(ProcessError) -> (Int32, isChild: Bool) {
        let descriptor: Int32
        switch adoption.identity.open(systemCalls) {
        case .opened(let opened): descriptor = opened
        case .gone: throw ProcessError(ESRCH, action: adoption.action)
        case .failed(let errno): throw ProcessError(errno, action: adoption.action)
        }
        do throws(ProcessError) {
            return (descriptor, try check(adoption, descriptor) == getpid())
        } catch {
            systemCalls.close(descriptor)
            throw error
        }
    }

    /// - Returns: The number of the process's parent.
    private func check(_ adoption: Adoption, _ descriptor: Int32) throws(ProcessError) -> Int32 {
        let number = adoption.identity.processID
        guard let statistics = try adoption.identity.statistics(systemCalls),
            // The exit status of a child waits for this process.
            !statistics.isZombie || adoption.kept != nil
        else {
            throw ProcessError(ESRCH, action: adoption.action)
        }
        guard statistics.sessionID == number, statistics.groupID == number else {
            throw .invalid(
                "Could not \(adoption.action): it doesn't lead a session of its own, as every process does that is spawned here."
            )
        }
        // Signal 0 tells whether a signal would be allowed.
        let result = systemCalls.signalProcess(descriptor, 0)
        guard result >= 0 else { throw ProcessError(-result, action: adoption.action) }
        return statistics.parentID
    }

    private func openOutput(_ adoption: Adoption, _ child: UInt64) throws(ProcessError) -> (key: UInt64, value: Capture)? {
        guard case .fifo(let path, let receive) = adoption.output else { return nil }
        let descriptor = systemCalls.openFIFO(path)
        guard descriptor >= 0 else { throw ProcessError(-descriptor, action: "\(adoption.action): its output, the FIFO \(path)") }
        let capture = Capture(end: ReadingEnd(descriptor: descriptor, receive: receive, path: path, isFIFO: true), child: child)
        let token = nextToken()
        let result = systemCalls.pollAdd(poll, descriptor, token)
        guard result >= 0 else {
            systemCalls.close(descriptor)
            throw ProcessError(-result, action: "\(adoption.action): watch its output")
        }
        return (token, capture)
    }

    private func watch(_ descriptor: Int32, _ token: UInt64, _ adoption: Adoption) throws(ProcessError) {
        let result = systemCalls.pollAdd(poll, descriptor, token)
        guard result >= 0 else { throw ProcessError(-result, action: adoption.action) }
    }

    /// Takes note of a child whose exit status this process takes.
    private func claim(_ number: Int32) {
        thread.spawned.withLock { _ = $0.insert(number) }
        Subreaper.childSpawned()
    }

    /// Leaves the exit status of a kept child that couldn't be adopted to the thread that reaps orphans.
    ///
    /// The child may have ended long ago, and its number be that of a child by now that was spawned here.
    private func stopExpecting(_ number: Int32) {
        let isSpawned =
            children.values.contains { !$0.isAdopted && $0.identity.processID == number }
            || launches.values.contains { $0.spawned.processID == number } || abandoned.contains(number)
        if !isSpawned { forget(number) }
    }

    /// Delivers what a process that is gone has written last, and closes the end.
    private func readRest(of end: ReadingEnd) {
        drain(end) {
            guard let count = readPiece(of: end), count >= 0 else { return nil }
            return count
        }
        end.close(systemCalls)
        end.receive([])
    }

    /// Closes a reading end whose FIFO is still in use.
    private func stopReading(_ capture: Capture) {
        systemCalls.pollRemove(poll, capture.descriptor)
        systemCalls.close(capture.descriptor)
    }
}
