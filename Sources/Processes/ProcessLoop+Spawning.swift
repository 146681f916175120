import ConcurrencySupport
import Glibc

extension ProcessLoop {
    /// Starts a child.
    ///
    /// When a step fails, all earlier ones are undone: no descriptor, process or registration is left.
    func spawn(_ specification: ProcessSpecification) throws(ProcessError) -> ChildProcess {
        try specification.validate()
        try refuseWithoutDescriptors(specification)
        var descriptors = try SpawnDescriptors(specification, systemCalls: systemCalls, fifoSize: fifoSize)
        let request = SpawnRequest(specification, descriptors: descriptors.inherited)

        let token = nextToken()
        let registered = try register(
            descriptors.takeReadingEnds(),
            of: token,
            action: "watch the output of \"\(specification.executable)\""
        )
        // The thread that reaps orphans must not find a spawned child before it is recorded as one.
        let processID = thread.spawned.withLock { spawned in
            let processID = systemCalls.spawn(request)
            if processID > 0 { spawned.insert(processID) }
            return processID
        }
        Subreaper.childSpawned()
        guard processID > 0 else {
            forget(registered)
            throw ProcessError(spawning: specification, request.attributes, failedWith: processID == 0 ? EIO : -processID)
        }
        do throws(ProcessError) {
            let child = try keep(processID, token: token, specification)
            specification.whenSpawned?(child.identity)
            captures.merge(registered) { $1 }
            children[token] = child
            return child
        } catch {
            forget(registered)
            throw error
        }
    }

    /// Registers a spawned child: its pidfd, its start time, its place in epoll.
    ///
    /// On failure the child is killed and reaped.
    ///
    /// The child has not been reaped, so its number can't belong to another process.
    private func keep(_ processID: Int32, token: UInt64, _ specification: ProcessSpecification) throws(ProcessError) -> ChildProcess {
        let descriptor = systemCalls.openProcess(processID)
        guard descriptor >= 0 else {
            // The child is gone: this program ignores SIGCHLD or waits for any child, and the child has ended.
            if SystemCalls.isGone(descriptor) { forget(processID) } else { abandon(processID) }
            throw ProcessError(-descriptor, action: "watch process \(processID) (\"\(specification.executable)\"), which was ended again")
        }
        guard let statistics = try? systemCalls.parsedStatistics(of: processID) else {
            systemCalls.close(descriptor)
            abandon(processID)
            throw ProcessError(
                code: .spawnFailed,
                errno: 0,
                message:
                    "Could not read /proc/\(processID)/stat of \"\(specification.executable)\", which was ended again. Is /proc mounted?"
            )
        }
        let result = systemCalls.pollAdd(poll, descriptor, token)
        guard result >= 0 else {
            systemCalls.close(descriptor)
            abandon(processID)
            throw ProcessError(-result, action: "watch process \(processID) (\"\(specification.executable)\"), which was ended again")
        }
        return ChildProcess(
            identity: ProcessIdentity(processID: processID, startTime: statistics.startTime),
            descriptor: descriptor,
            token: token,
            userID: specification.account?.user ?? geteuid(),
            killsGroupAtExit: specification.killsGroupAtExit,
            thread: thread
        )
    }

    /// The capacity to ask for when a FIFO is made: 1 MiB for the first ones, the default size after that.
    ///
    /// When a user's pipes exceed `fs.pipe-user-pages-soft`, 64 MiB as a rule, all further pipes of that user are tiny; see pipe(7). So
    /// the large ones take half of that at most.
    private var fifoSize: Int32 { captures.values.count { $0.end.isFIFO } < Self.largeFIFOs ? 1 << 20 : 0 }

    /// Refuses a spawn that would take the last descriptors, which are reserved for the rest of the program: without them a supervisor
    /// could neither accept connections nor report the failure.
    private func refuseWithoutDescriptors(_ specification: ProcessSpecification) throws(ProcessError) {
        // A pidfd, /proc/PID/stat, two ends and a copy for each pipe, a copy of each other source.
        let pipes = [specification.standardOutput, specification.standardError].count { $0.isRead }
        let needed = 2 + 3 * (pipes + specification.channels.count) + (3 - pipes) + specification.descriptors.count
        let (open, limit) = systemCalls.descriptorUsage()
        guard limit - open < needed + Self.reservedDescriptors else { return }
        throw ProcessError(
            code: .outOfDescriptors,
            errno: EMFILE,
            message: "Could not start \"\(specification.executable)\": \(open) of \(limit) descriptors are open, and the last "
                + "\(Self.reservedDescriptors) are kept in reserve. Raise the limit of open files (ulimit -n, LimitNOFILE=)."
        )
    }
}
