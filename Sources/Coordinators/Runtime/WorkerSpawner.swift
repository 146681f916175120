import ConcurrencySupport
import Glibc
import Logging
import Processes
import WireProtocol

/// The conversion of a child's definition into a process.
struct WorkerSpawner: Sendable {
    /// The executable of a child that names none; `nil`: that of this process.
    let defaultExecutable: String?
    let output: WorkerOutput
    let spawner: ProcessSpawner
    /// The mark to which each child's entry is appended.
    let mark: ProcessMark
    /// The environment that children inherit.
    let environment: InheritedEnvironment
    /// The log level of workers, unless they are configured otherwise.
    let logLevel: Logger.Level
    /// Whether each child begins in a control group of its own, where that is possible.
    let usesControlGroups: Bool

    /// Spawns a worker that waits for its ticket on a descriptor.
    ///
    /// - Parameters:
    ///   - isStrict: Whether the worker dies with this process.
    ///   - lock: The lock that the worker holds for its life.
    ///   - fifo: The path of a FIFO for its output, so that the worker may outlive this process.
    /// - Returns: The process, with the mark by which all its descendants are found, and the pipe for its ticket.
    func spawn(
        _ program: WorkerProgram,
        _ plan: WorkerPlan,
        path: CoordinatorPath,
        incarnation: UInt32,
        isStrict: Bool,
        lock: IncarnationLock? = nil,
        fifo: String? = nil
    ) async throws(CoordinatorError) -> (SpawnedProcess, TicketPipe) {
        let executable = program.executable ?? defaultExecutable ?? "/proc/self/exe"
        var surroundings = program.surroundings
        var environment = surroundings.environment
        environment[WorkerEnvironment.logLevelVariable] = environment[WorkerEnvironment.logLevelVariable] ?? logLevel.rawValue
        environment[WorkerEnvironment.ticketVariable] = String(WorkerEnvironment.ticketDescriptor)
        if lock != nil { environment[WorkerEnvironment.lockVariable] = String(WorkerEnvironment.lockDescriptor) }
        let pipe = try TicketPipe()
        defer { pipe.closeReader() }
        surroundings.environment = environment
        var specification = try await specification(executable, program.arguments, surroundings, path)
        output.capture(&specification, path, incarnation, fifo: fifo)
        specification.diesWithParent = isStrict
        specification.descriptors = [InheritedDescriptor(source: pipe.reader, target: WorkerEnvironment.ticketDescriptor)]
        if let lock { specification.descriptors.append(lock.inherited(as: WorkerEnvironment.lockDescriptor)) }
        // The child has the lock when this process closes its own descriptor.
        defer { withExtendedLifetime(lock) {} }
        let child = try await spawn(specification, path)
        if let limit = plan.dataLimit { child.process.limitData(to: limit) }
        return (child, pipe)
    }

    /// Finds the user as whom a worker is to run.
    static func user(of program: WorkerProgram, _ path: CoordinatorPath) async throws(CoordinatorError) -> UInt32 {
        try await failing(path) { () throws(ProcessError) in
            try await Account.find(program.surroundings.attributes)?.user ?? geteuid()
        }
    }

    /// Takes over a worker that another process has spawned.
    ///
    /// - Parameters:
    ///   - user: The user as whom the worker was started.
    ///   - fifo: The path of the FIFO that the worker writes its output to.
    func adopt(
        _ process: ProcessIdentity,
        of user: UInt32,
        path: CoordinatorPath,
        incarnation: UInt32,
        fifo: String?
    ) async throws(ProcessError) -> ChildProcess {
        let destination = output.adopted(path, incarnation, process.processID, fifo: fifo)
        return try await spawner.adopt(process, output: destination, killsGroupAtExit: true, userID: user)
    }

    /// The purpose of a process that is the path's life.
    private static let startPurpose = "start"

    /// Spawns a plain program, which dies with this process unless it has files by which the next one goes on with it.
    ///
    /// - Parameters:
    ///   - channels: The ways by which the program can say something.
    ///   - files: The files of a program that outlives this process.
    ///   - purpose: What the process is for besides the path's life, such as a check.
    ///   - limit: The time that a file system has to let it begin, if that is less than usual.
    func spawn(
        _ program: ProgramSpecification,
        path: CoordinatorPath,
        incarnation: UInt32,
        channels: ProgramChannels,
        files: ProgramFiles? = nil,
        for purpose: String = startPurpose,
        within limit: Duration? = nil
    ) async throws(CoordinatorError) -> SpawnedProcess {
        guard let name = program.command.first else {
            throw CoordinatorError(.spawnFailed, "\(path) has an empty command")
        }
        let subject = "\(purpose) of \(path)"
        let limit = min(limit ?? BlockingCalls.usualLimit, BlockingCalls.usualLimit)
        let searchPath = program.environment["PATH"] ?? (program.inheritsEnvironment ? environment["PATH"] : nil)
        var surroundings = program.surroundings
        surroundings.environment.merge(channels.variables) { $1 }
        // The lists of users, the files of variables and the sockets may be on a file system that doesn't answer.
        let given = surroundings
        var specification = try await Self.failing(path) { () throws(ProcessError) in
            try await BlockingCalls.shared.run(subject, within: limit + .seconds(1), action: "prepare the start of \(path)") {
                () throws(ProcessError) in
                let account = try Account.other(given.attributes)
                let variables = try given.variables(for: account, within: limit)
                var found = self.specification(name, Array(program.command.dropFirst()), given, variables, path)
                found.resolve(account)
                try program.sockets.add(to: &found)
                if purpose == Self.startPurpose { found.input = try InputDescriptor.open(program.standardInput) }
                return found
            }
        }
        specification.searchPath = searchPath ?? "/usr/local/bin:/usr/bin:/bin"
        specification.channels = channels.list
        if let take = channels.takesWholeOutput {
            specification.standardOutput = .captured(take)
            specification.standardError = .sameAsOutput
        } else {
            output.capture(&specification, path, incarnation, fifo: files?.output, errorFIFO: files?.errors, seenBy: channels.sees)
        }
        specification.processName = name
        specification.diesWithParent = files == nil
        // The others of a program's group get their time to end, as the program had.
        specification.killsGroupAtExit = purpose != "start"
        specification.subject = subject
        specification.startLimit = limit
        return try await spawn(specification, path)
    }

    /// Returns what the process of a path's life is for.
    static func subject(_ path: CoordinatorPath) -> String { "start of \(path)" }

    /// Has the error of a step say which child's it is.
    private static func failing<Value>(
        _ path: CoordinatorPath,
        _ body: () async throws(ProcessError) -> Value
    ) async throws(CoordinatorError) -> Value {
        do throws(ProcessError) {
            return try await body()
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
        }
    }

    /// Returns the specification of a worker, whose files of variables are read.
    private func specification(
        _ executable: String,
        _ arguments: [String],
        _ surroundings: ProcessSurroundings,
        _ path: CoordinatorPath
    ) async throws(CoordinatorError) -> ProcessSpecification {
        let subject = Self.subject(path)
        var variables = surroundings.environment
        if !surroundings.environmentFiles.isEmpty {
            variables = try await Self.failing(path) { () throws(ProcessError) in
                try await BlockingCalls.shared.run(subject, action: "read the files of \(path)") { () throws(ProcessError) in
                    try surroundings.variables(for: try Account.other(surroundings.attributes))
                }
            }
        }
        let backtrace = WorkerEnvironment.backtraceVariable
        // Whoever wants backtraces of workers sets the variable, for one worker or for the whole program.
        if variables[backtrace] == nil, !surroundings.inheritsEnvironment || environment[backtrace] == nil {
            variables[backtrace] = WorkerEnvironment.noBacktrace
        }
        var specification = self.specification(executable, arguments, surroundings, variables, path)
        specification.subject = subject
        return specification
    }

    private func specification(
        _ executable: String,
        _ arguments: [String],
        _ surroundings: ProcessSurroundings,
        _ variables: [String: String],
        _ path: CoordinatorPath
    ) -> ProcessSpecification {
        var specification = ProcessSpecification(
            executable: executable,
            arguments: arguments,
            processName: Self.processName(executable, path),
            environment: variables,
            workingDirectory: surroundings.directory,
            killsGroupAtExit: true,
            attributes: surroundings.attributes
        )
        if surroundings.inheritsEnvironment { specification.inheritedEnvironment = environment.entries }
        return specification
    }

    private func spawn(_ specification: ProcessSpecification, _ path: CoordinatorPath) async throws(CoordinatorError) -> SpawnedProcess {
        let entry = ProcessMark.makeEntry()
        var specification = specification
        specification.environment?[ProcessMark.variable] = mark.appending(entry).text
        if usesControlGroups { specification.controlGroup = ControlGroup.make(for: entry) }
        if let limits = specification.attributes.groupLimits {
            do throws(ProcessError) {
                try ControlGroup.hold(limits, in: specification.controlGroup)
            } catch {
                specification.controlGroup?.remove()
                throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
            }
        }
        do throws(ProcessError) {
            let process = try await spawner.spawn(specification)
            return SpawnedProcess(process: process, family: ProcessFamily(leader: process.identity, entry: entry))
        } catch {
            specification.controlGroup?.remove()
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
        }
    }

    /// Returns the name that operators see in a list of processes: "Shop: /shop/cart".
    ///
    /// Foreign programs may rely on their own name.
    private static func processName(_ executable: String, _ path: CoordinatorPath) -> String? {
        guard executable == "/proc/self/exe" else { return nil }
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = max(readlink(executable, &buffer, buffer.count), 0)
        let name = buffer[..<length].map { UInt8(bitPattern: $0) }.split(separator: UInt8(ascii: "/")).last ?? []
        return "\(String(decoding: name, as: UTF8.self)): \(path)"
    }
}

/// A child process, and the mark by which all its descendants are found.
struct SpawnedProcess: Sendable {
    let process: ChildProcess
    let family: ProcessFamily
}

// MARK: - The rate of restarts

/// The rate at which a process may spawn again: restarts of its workers, and spares.
final class RestartTokens: Sendable {
    private let bucket: Lock<TokenBucket>

    init(_ bucket: TokenBucket) { self.bucket = Lock(bucket) }

    /// Waits for a turn, or until the interruption is settled.
    ///
    /// The call returns at once if there is a token left.
    func wait(orUntil interruption: OneShot<Void> = OneShot()) async {
        let turn = MonotonicTime(sinceOrigin: bucket.withLock { $0.takeToken(now: MonotonicTime.now.sinceOrigin) })
        guard turn > .now else { return }
        // The interruption is the caller's, so a turn that has come doesn't settle it.
        _ = await interruption.value(before: turn)
    }
}

// MARK: - The pipe of a ticket

/// The pipe on which a worker waits for its ticket.
final class TicketPipe: Sendable {
    /// The worker's end.
    let reader: Int32
    private let writer: Lock<Int32?>

    init() throws(CoordinatorError) {
        do throws(ProcessError) {
            let pipe = try InheritablePipe()
            reader = pipe.reader
            writer = Lock(pipe.writer)
        } catch {
            throw CoordinatorError(.spawnFailed, "no pipe can be made for a worker's ticket: \(error.message)")
        }
    }

    /// Closes the pipe; without a ticket, a worker that still waits for one ends.
    deinit {
        if let descriptor = takeDescriptor() { close(descriptor) }
    }

    /// Closes this process's copy of the worker's end, when the worker has its own.
    func closeReader() { close(reader) }

    /// Writes the ticket, which is small enough that the call never blocks.
    ///
    /// - Throws: An error when the ticket can't be read any more: the worker has ended, or has closed its end.
    func give(_ ticket: Ticket) throws(CoordinatorError) {
        guard let descriptor = takeDescriptor() else { throw CoordinatorError(.spawnFailed, "a worker was given a ticket before") }
        let bytes = ticket.encoded()
        let count = write(descriptor, bytes, bytes.count)
        let number = errno
        close(descriptor)
        guard count == bytes.count else {
            throw CoordinatorError(.spawnFailed, "a worker's ticket can't be written: \(String(cString: strerror(number)))")
        }
    }

    private func takeDescriptor() -> Int32? {
        writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
    }
}

// MARK: - The secret of a life

/// The secret by which a worker proves that it was spawned for its link.
enum Secret {
    /// 32 bytes from the system's generator (getrandom(2) on Linux).
    static func make() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        // A word is one system call, as a byte would be.
        let words = (0..<Ticket.secretLength / 8).map { _ in generator.next() as UInt64 }
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }
}

/// The ways by which a program can say something, and the variables that name them to it.
struct ProgramChannels: Sendable {
    var list: [ProcessChannel] = []
    /// The function that sees the output, and whether it's standard error, beside the runtime's receiver.
    var sees: (@Sendable ([UInt8], Bool) -> Void)?
    /// The function that takes all output instead of the runtime's receiver; no bytes mean that no more comes.
    var takesWholeOutput: (@Sendable ([UInt8]) -> Void)?
    var variables: [String: String] = [:]
}

/// The files of a program that may outlive this process: the program holds each FIFO open for reading and writing.
struct ProgramFiles: Sendable {
    /// The FIFO for its output; `nil`: the output isn't captured.
    var output: String?
    /// The FIFO for its standard error, if that's apart.
    var errors: String?
    /// The FIFO by which it shows that it's ready.
    var channel: String?
}
