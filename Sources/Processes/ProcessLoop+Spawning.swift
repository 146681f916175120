import ConcurrencySupport
import Glibc

extension ProcessLoop {
    typealias Reply = CheckedContinuation<Result<ChildProcess, ProcessError>, Never>

    /// A child that is about to become its program, which a file system may delay for any time.
    struct Launch {
        let specification: ProcessSpecification
        let attributes: SpawnAttributes?
        let spawned: SpawnedChild
        /// The token that the child gets.
        let child: UInt64
        /// The reading end of the pipe that the child closes as it becomes its program or ends.
        let status: Int32
        let captures: [UInt64: Capture]
        let since = DateTime.now
        var deadline: PatientDeadline
        /// The reason why the child can't become its program, as it has written it.
        var failure: Int32?
        /// The caller that waits; nil: it was told that the start hangs.
        var reply: Reply?
        /// The start for which other starts of the same subject wait.
        var hang: HangingStart?
    }

    /// Starts a child.
    func start(_ specification: ProcessSpecification, _ reply: Reply) {
        do throws(ProcessError) {
            try launch(specification, reply)
        } catch {
            reply.resume(returning: .failure(error))
        }
    }

    /// Spawns a child; the caller hears of it when the child has become its program.
    ///
    /// When a step fails, all earlier ones are undone: no descriptor, process or registration is left.
    private func launch(_ specification: ProcessSpecification, _ reply: Reply) throws(ProcessError) {
        try specification.validate()
        try refuseWithoutDescriptors(specification)
        var descriptors = try SpawnDescriptors(specification, systemCalls: systemCalls, fifoSize: fifoSize)
        let status = try descriptors.makeStatus()
        let request = SpawnRequest(specification, descriptors: descriptors.inherited, status: descriptors.status)
        let token = nextToken()
        let registered: [UInt64: Capture]
        do throws(ProcessError) {
            registered = try register(
                descriptors.takeReadingEnds(),
                of: token,
                action: "watch the output of \"\(specification.executable)\""
            )
        } catch {
            systemCalls.close(status)
            throw error
        }
        let statusToken = nextToken()
        let result = systemCalls.pollAdd(poll, status, statusToken)
        guard result >= 0 else {
            forget(registered)
            systemCalls.close(status)
            throw ProcessError(-result, action: "watch the start of \"\(specification.executable)\"")
        }
        // The thread that reaps orphans must not find a spawned child before it is recorded as one.
        let spawned = thread.spawned.withLock { numbers in
            let spawned = systemCalls.spawn(request)
            if spawned.processID > 0 { numbers.insert(spawned.processID) }
            return spawned
        }
        Subreaper.childSpawned()
        guard spawned.processID > 0 else {
            forget(registered)
            close(status: status)
            let errno = spawned.processID == 0 ? EIO : -spawned.processID
            throw ProcessError(spawning: specification, request.attributes, failedWith: errno)
        }
        launches[statusToken] = Launch(
            specification: specification,
            attributes: request.attributes,
            spawned: spawned,
            child: token,
            status: status,
            captures: registered,
            deadline: PatientDeadline(specification.startLimit),
            reply: reply
        )
    }

    /// Reads what a child says of its start.
    func launchChanged(_ token: UInt64) {
        guard let launch = launches[token] else { return }
        let count = systemCalls.read(launch.status, buffer)
        if count == -Int(EAGAIN) { return }
        if count >= MemoryLayout<Int32>.size {
            // The end of the pipe, which follows, says that the child has ended.
            launches[token]?.failure = buffer.load(as: Int32.self)
            return
        }
        launches[token] = nil
        close(status: launch.status)
        launch.spawned.release()
        end(launch)
        launch.hang?.end.settle()
    }

    /// Ends the start of a child that has become its program, or has ended.
    private func end(_ launch: Launch) {
        let processID = launch.spawned.processID
        if let failure = launch.failure {
            // It has closed its descriptors, so its end is a matter of moments.
            _ = systemCalls.reapNumber(processID, true)
            forget(processID)
            forget(launch.captures)
            launch.reply?.resume(returning: .failure(ProcessError(spawning: launch.specification, launch.attributes, failedWith: failure)))
            return
        }
        do throws(ProcessError) {
            let child = try keep(processID, token: launch.child, launch.specification)
            children[launch.child] = child
            if launch.attributes?.oomScore == nil { OutOfMemoryScore.reset(processID) }
            guard let reply = launch.reply else {
                // It was given up, and ends.
                forget(launch.captures)
                try? child.sendToGroup(.kill)
                return
            }
            launch.specification.whenSpawned?(child.identity)
            captures.merge(launch.captures) { $1 }
            reply.resume(returning: .success(child))
        } catch {
            forget(launch.captures)
            launch.reply?.resume(returning: .failure(error))
        }
    }

    // MARK: Starts that hang

    /// Gives up the starts that hang: the callers are told, and the processes are killed as soon as the kernel can do it.
    ///
    /// - Parameter isTimeOver: Whether all have had the time that they may take.
    func giveUpOverdueStarts(isTimeOver: Bool = false) {
        for (token, launch) in launches {
            guard let reply = launch.reply, launches[token]?.deadline.look() == true || isTimeOver else { continue }
            // It leads a group of its own, in which it's alone, unless it has been frozen before that: it isn't reaped yet, so its number is its own.
            _ = systemCalls.signalGroup(launch.spawned.processID, SIGKILL)
            kill(launch.spawned.processID, SIGKILL)
            let hang = HangingStart(
                error: ProcessError(hangingSince: launch.since, launch.spawned.processID, launch.specification)
            )
            launches[token]?.reply = nil
            launches[token]?.hang = hang
            if let subject = launch.specification.subject { thread.hangingStarts.withLock { $0[subject] = hang } }
            reply.resume(returning: .failure(hang.error))
        }
    }

    /// The next time at which a start is given up; nil: none may be.
    var nextGivingUp: MonotonicTime? { launches.values.compactMap { $0.reply == nil ? nil : $0.deadline.next }.min() }

    /// Waits until no child is about to become its program, for a time, and gives up those that hang.
    func finishLaunches(within limit: Duration) {
        let deadline = SuspendingClock.now.advanced(by: limit)
        while SuspendingClock.now < deadline {
            let statuses = launches.filter { $0.value.reply != nil }
            if statuses.isEmpty { break }
            var watched = statuses.values.map { pollfd(fd: $0.status, events: Int16(POLLIN), revents: 0) }
            _ = Glibc.poll(&watched, nfds_t(watched.count), SuspendingClock.now.duration(to: deadline).millisecondsRoundedUp)
            for token in statuses.keys { launchChanged(token) }
        }
        giveUpOverdueStarts(isTimeOver: true)
    }

    private func close(status: Int32) {
        systemCalls.pollRemove(poll, status)
        systemCalls.close(status)
    }

    // MARK: The steps of a start

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
        // A pidfd, /proc/PID/stat, two ends and a copy for each pipe, that of the start included, a copy of each other source.
        let pipes = [specification.standardOutput, specification.standardError].count { $0.isRead }
        let needed = 5 + 3 * (pipes + specification.channels.count) + (3 - pipes) + specification.descriptors.count
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

/// A start that hangs.
struct HangingStart: Sendable {
    let error: ProcessError
    /// The end of its process.
    let end = OneShot<Void>()
}

extension ProcessSpawner {
    /// What file systems haven't answered in time, and still hold: starts, reads of files and other calls, by what they are for.
    package static var fileSystemHangs: [String] {
        let starts = shared.thread.hangingStarts.withLock { $0.filter { !$0.value.end.isSettled }.map(\.key) }
        return Set(starts + RegularFile.hanging + BlockingCalls.shared.hanging).sorted()
    }

    /// Waits while an earlier start of the same subject hangs.
    ///
    /// - Throws: The error of that start, if it still hangs after the limit.
    package func awaitHangingStart(of subject: String, within limit: Duration = BlockingCalls.usualLimit) async throws(ProcessError) {
        guard let hang = thread.hangingStarts.withLock({ $0[subject] }) else { return }
        guard await hang.end.value(before: .now + limit) != nil else { throw hang.error }
        thread.hangingStarts.withLock { if $0[subject]?.end === hang.end { $0[subject] = nil } }
    }
}
