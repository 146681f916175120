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
        lock: LifeLock? = nil,
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
        var specification = try specification(executable, program.arguments, surroundings, path)
        output.capture(&specification, path, incarnation, fifo: fifo)
        specification.diesWithParent = isStrict
        specification.descriptors = [InheritedDescriptor(source: pipe.reader, target: WorkerEnvironment.ticketDescriptor)]
        if let lock { specification.descriptors.append(lock.inherited(as: WorkerEnvironment.lockDescriptor)) }
        // The child has the lock when this process closes its own descriptor.
        defer { withExtendedLifetime(lock) {} }
        let child = try await spawn(specification, path)
        if let limit = plan.memoryLimit { child.process.limitMemory(to: limit) }
        return (child, pipe)
    }

    /// Finds the user as whom a worker is to run.
    static func user(of program: WorkerProgram, _ path: CoordinatorPath) async throws(CoordinatorError) -> UInt32 {
        do throws(ProcessError) {
            return try await Account.find(program.surroundings.attributes)?.user ?? geteuid()
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
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

    /// Spawns a plain program, which dies with this process.
    ///
    /// - Parameter channels: The ways by which the program can say something.
    func spawn(
        _ program: ProgramSpecification,
        path: CoordinatorPath,
        incarnation: UInt32,
        channels: ProgramChannels
    ) async throws(CoordinatorError) -> SpawnedProcess {
        guard let name = program.command.first else {
            throw CoordinatorError(.spawnFailed, "\(path) has an empty command")
        }
        let searchPath = program.environment["PATH"] ?? (program.inheritsEnvironment ? environment["PATH"] : nil)
        guard let executable = Self.find(name, in: searchPath, relativeTo: program.directory) else {
            throw CoordinatorError(
                .spawnFailed,
                "\(path): there is no executable '\(name)'; give its path, or see that PATH has its directory"
            )
        }
        var surroundings = program.surroundings
        surroundings.environment.merge(channels.variables) { $1 }
        var specification = try specification(executable, Array(program.command.dropFirst()), surroundings, path)
        specification.channels = channels.list
        do throws(ProcessError) {
            try program.sockets.add(to: &specification)
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
        }
        output.capture(&specification, path, incarnation, fifo: nil)
        specification.processName = name
        specification.diesWithParent = true
        return try await spawn(specification, path)
    }

    private func specification(
        _ executable: String,
        _ arguments: [String],
        _ surroundings: ProcessSurroundings,
        _ path: CoordinatorPath
    ) throws(CoordinatorError) -> ProcessSpecification {
        let variables: [String: String]
        do throws(ProcessError) {
            variables = try surroundings.variables()
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
        }
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
        do throws(ProcessError) {
            let process = try await spawner.spawn(specification)
            return SpawnedProcess(process: process, family: ProcessFamily(leader: process.identity, entry: entry))
        } catch {
            specification.controlGroup?.remove()
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
        }
    }

    /// Finds an executable as execvp(3) would, in a `PATH` that may be another process's.
    ///
    /// - Parameter directory: The directory that a relative path starts from.
    private static func find(_ name: String, in path: String?, relativeTo directory: String?) -> String? {
        func isExecutable(_ candidate: String) -> Bool {
            let absolute = candidate.hasPrefix("/") ? candidate : "\(directory ?? ".")/\(candidate)"
            return access(absolute, X_OK) == 0
        }
        if name.contains("/") { return isExecutable(name) ? name : nil }
        return (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map { "\($0)/\(name)" }.first(where: isExecutable)
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
