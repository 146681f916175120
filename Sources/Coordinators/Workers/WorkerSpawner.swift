import Glibc
import Processes
import WireProtocol

/// Turns a child's definition into a process.
struct WorkerSpawner: Sendable {
    /// What the process runs when the child names no executable; `nil`: the running one.
    let defaultExecutable: String?
    let output: WorkerOutput
    let spawner: ProcessSpawner

    /// Spawns a worker that waits for its ticket on a descriptor.
    ///
    /// - Parameter isStrict: it dies with this process.
    func spawn(
        _ program: WorkerProgram,
        _ plan: WorkerPlan,
        path: CoordinatorPath,
        isStrict: Bool
    ) async throws(CoordinatorError) -> (ChildProcess, TicketPipe) {
        let executable = program.executable ?? defaultExecutable ?? "/proc/self/exe"
        var environment = inherited(program.environment)
        environment[WorkerEnvironment.ticketVariable] = String(WorkerEnvironment.ticketDescriptor)
        let pipe = try TicketPipe()
        defer { pipe.closeReader() }
        var specification = specification(executable, program.arguments, environment, program.directory, path)
        specification.diesWithParent = isStrict
        specification.descriptors = [InheritedDescriptor(source: pipe.reader, target: WorkerEnvironment.ticketDescriptor)]
        let child = try await spawn(specification, path)
        if let limit = plan.memoryLimit { child.limitMemory(to: limit) }
        return (child, pipe)
    }

    /// Spawns a plain program, which dies with this process.
    func spawn(_ program: ProgramSpecification, path: CoordinatorPath) async throws(CoordinatorError) -> ChildProcess {
        guard let name = program.command.first else {
            throw CoordinatorError(.spawnFailed, "\(path) has an empty command")
        }
        let environment = inherited(program.environment)
        guard let executable = ExecutableSearch.find(name, in: environment["PATH"], relativeTo: program.directory) else {
            throw CoordinatorError(
                .spawnFailed,
                "\(path): there is no executable '\(name)'; give its path, or see that PATH has its directory"
            )
        }
        var specification = specification(executable, Array(program.command.dropFirst()), environment, program.directory, path)
        specification.processName = name
        specification.diesWithParent = true
        return try await spawn(specification, path)
    }

    private func specification(
        _ executable: String,
        _ arguments: [String],
        _ environment: [String: String],
        _ directory: String?,
        _ path: CoordinatorPath
    ) -> ProcessSpecification {
        ProcessSpecification(
            executable: executable,
            arguments: arguments,
            processName: Self.processName(executable, path),
            environment: environment,
            workingDirectory: directory,
            standardOutput: output.destination(for: path),
            standardError: output.isCaptured ? .sameAsOutput : .inherit,
            killsGroupAtExit: true
        )
    }

    private func spawn(_ specification: ProcessSpecification, _ path: CoordinatorPath) async throws(CoordinatorError) -> ChildProcess {
        do throws(ProcessError) {
            return try await spawner.spawn(specification)
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
        }
    }

    /// What operators see in a list of processes: "Shop: /shop/cart".
    ///
    /// Foreign programs may rely on their own name.
    private static func processName(_ executable: String, _ path: CoordinatorPath) -> String? {
        guard executable == "/proc/self/exe" else { return nil }
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = max(readlink(executable, &buffer, buffer.count), 0)
        let name = buffer[..<length].map { UInt8(bitPattern: $0) }.split(separator: UInt8(ascii: "/")).last ?? []
        return "\(String(decoding: name, as: UTF8.self)): \(path)"
    }

    private func inherited(_ overlay: [String: String]) -> [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee.map({ String(cString: $0) }) {
            if let separator = text.firstIndex(of: "=") {
                result[String(text[..<separator])] = String(text[text.index(after: separator)...])
            }
            entry += 1
        }
        return result.merging(overlay) { $1 }
    }
}
