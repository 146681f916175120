import ConcurrencySupport
import Control
import CoordinatorsTesting
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// A real `coordinatord` in a directory of its own.
///
/// It and each daemon that was started after it are ended, with all their processes, when the test doesn't do so.
final class RunningDaemon: Sendable {
    /// The directory of the daemon's configuration `tree.yaml` and its runtime directory `run`.
    private let temporary: TemporaryDirectory
    let process: ChildProcess
    /// The daemons that were started after the first.
    private let next = Lock<[ChildProcess]>([])
    /// Whether the daemon has file systems of its own.
    private let hasOwnFiles: Bool

    static let coordinatord = BuiltProgram("coordinatord")
    private static let coordinatorctl = BuiltProgram("coordinatorctl")

    /// The directory, as this process sees it.
    var directory: String { hasOwnFiles ? "/proc/\(process.identity.processID)/root\(temporary.path)" : temporary.path }

    private init(_ temporary: TemporaryDirectory, process: ChildProcess, hasOwnFiles: Bool) {
        self.temporary = temporary
        self.process = process
        self.hasOwnFiles = hasOwnFiles
    }

    /// Starts a daemon, runs the body, and ends the daemon in any case.
    ///
    /// - Parameters:
    ///   - descriptorLimit: the limit of the daemon's open descriptors; nil means that of this process.
    ///   - standardError: the destination of the daemon's log and its children's output.
    ///   - wrapper: a command of the shell that ends by running its last arguments, the daemon's command; `DIRECTORY` in it stands for the
    ///     directory.
    ///   - hasOwnFiles: whether the wrapper mounts file systems that only the daemon sees, and becomes the daemon itself.
    ///   - options: further options of the daemon.
    ///   - former: the directory with the executables of another build, of which the daemon and its workers are.
    static func with(
        _ configuration: String,
        from former: String? = nil,
        descriptorLimit: Int? = nil,
        standardError: OutputDestination = .null,
        wrapper: String = "",
        hasOwnFiles: Bool = false,
        options: String = "",
        _ body: (RunningDaemon) async throws -> Void
    ) async throws {
        let temporary = try TemporaryDirectory()
        try write(configuration, in: temporary.path, former)
        let executable = former.map { "\($0)/coordinatord" } ?? coordinatord.path
        let process = try await start(
            executable,
            in: temporary.path,
            descriptorLimit,
            standardError,
            wrapper: wrapper,
            options: options
        )
        let daemon = RunningDaemon(temporary, process: process, hasOwnFiles: hasOwnFiles)
        do {
            try await daemon.eventually("the daemon answers") {
                try await daemon.call(.ping)
                return true
            }
            try await body(daemon)
        } catch {
            await daemon.end()
            throw error
        }
        await daemon.end()
    }

    private static func write(_ configuration: String, in directory: String, _ former: String? = nil) throws {
        let worker = former.map { "\($0)/FixtureWorker" } ?? BuiltProgram("FixtureWorker").path
        try Files.write(configuration.replacing("FIXTURE", with: worker), to: "\(directory)/tree.yaml")
    }

    /// Replaces the configuration that the next daemon reads.
    func rewrite(_ configuration: String) throws { try Self.write(configuration, in: directory) }

    /// Starts another daemon in the same directory.
    func startNext(standardError: OutputDestination = .null, wrapper: String = "") async throws -> ChildProcess {
        let process = try await Self.start(in: directory, nil, standardError, wrapper: wrapper)
        next.withLock { $0.append(process) }
        return process
    }

    /// Kills a daemon, and returns when it has ended.
    func kill(_ process: ChildProcess) async throws {
        try process.send(.kill)
        _ = await process.waitForExit()
    }

    /// Kills a daemon, and starts the next one at once.
    func killAndReplace(_ process: ChildProcess) async throws -> ChildProcess {
        try await kill(process)
        return try await startNext()
    }

    private static func start(
        _ executable: String = coordinatord.path,
        in directory: String,
        _ descriptorLimit: Int? = nil,
        _ standardError: OutputDestination = .null,
        wrapper: String = "",
        options: String = ""
    ) async throws -> ChildProcess {
        let limit = descriptorLimit.map { "ulimit -n \($0) && " } ?? ""
        let wrapper = wrapper.replacing("DIRECTORY", with: directory)
        let command = "\(limit)exec \(wrapper) \"$0\" --config '\(directory)/tree.yaml' --runtime-dir '\(directory)/run' \(options)"
        return try await ProcessSpawner.shared.spawn(
            ProcessSpecification(
                executable: "/bin/sh",
                arguments: ["-c", command, executable],
                standardOutput: .null,
                standardError: standardError
            )
        )
    }

    func control(_ arguments: String...) async throws -> BuiltProgram.Ended { try await control(arguments) }

    func control(_ arguments: [String]) async throws -> BuiltProgram.Ended {
        try await Self.coordinatorctl.run(["--runtime-dir", "\(directory)/run"] + arguments)
    }

    /// An operator's command that is still to be run.
    func controlSpecification(
        _ arguments: [String],
        standardOutput: OutputDestination = .null,
        standardError: OutputDestination = .null
    ) -> ProcessSpecification {
        ProcessSpecification(
            executable: Self.coordinatorctl.path,
            arguments: ["--runtime-dir", "\(directory)/run"] + arguments,
            standardOutput: standardOutput,
            standardError: standardError
        )
    }

    /// Makes a request on a connection of its own; as for every operator, one that was ended as idle before the request came is made again.
    @discardableResult
    func call(_ operation: ControlOperation) async throws -> JSONValue {
        while true {
            let client = try await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: "\(directory)/run"))
            defer { client.close() }
            do throws(ControlError) {
                return try await client.call(operation)
            } catch {
                guard error.code == .idle else { throw error }
            }
        }
    }

    func tree() async throws -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: try await call(.tree))
    }

    func node(_ path: String) async throws -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: try await call(.status(path: path)))
    }

    func deadLetters() async throws -> DeadLetterList {
        try ControlJSON.decode(DeadLetterList.self, from: try await call(.deadLetters))
    }

    /// Adds to the sum that a worker keeps, and returns the sum.
    func add(_ amount: Int64, to path: String) async throws -> Int {
        let answer = try await call(.ask(path: path, message: "Fixture.Add", payload: ["amount": .integer(amount)], timeout: .seconds(50)))
        return Int(try #require(answer["reply"]?.integerValue))
    }

    /// Returns all processes of the tree except the daemon's own.
    func processes() async throws -> [ProcessIdentity] {
        let list = try ControlJSON.decode(ProcessList.self, from: try await call(.ps))
        return list.processes.filter { $0.pid != process.identity.processID }.map {
            ProcessIdentity(processID: $0.pid, startTime: $0.startTime)
        }
    }

    /// Waits until a condition holds; a condition that throws doesn't hold yet.
    func eventually(
        _ what: @autoclosure () -> String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () async throws -> Bool
    ) async throws {
        try await eventuallyWithoutError(what(), sourceLocation: sourceLocation, condition)
    }

    /// Returns the number of a child's process, once the daemon says that it has one: what the process does can be seen before.
    func runningPID(of path: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> Int32 {
        var pid: Int32?
        try await eventually("\(path) has a process", sourceLocation: sourceLocation) {
            pid = try await node(path).pid
            return pid != nil
        }
        return try #require(pid, sourceLocation: sourceLocation)
    }

    /// Has the daemon run its executable anew, and returns what it says.
    func upgrade(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> UpgradeResult {
        let ended = try await control(["upgrade", "--json"] + arguments)
        #expect(ended.exitCode == 0, "\(ended.errors)", sourceLocation: sourceLocation)
        return try ControlJSON.decode(UpgradeResult.self, from: try ControlJSON.parse(Array(ended.output.utf8)))
    }

    /// The runtime directory.
    var run: String { "\(directory)/run" }

    var sockets: [String] { Files.names(in: run).filter { $0.hasSuffix(".sock") } }

    /// Ends a daemon in this one's runtime directory, of which nothing is left then: no process, and no file but the logs and the lock.
    func endLeavingNothing(_ process: ChildProcess, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let processes = try await processes()
        _ = await process.terminate(grace: .patient(.seconds(20)))
        #expect(processes.filter(\.isAlive).isEmpty, sourceLocation: sourceLocation)
        #expect(Files.names(in: run).filter { $0 != "logs" } == ["control.lock"], sourceLocation: sourceLocation)
    }

    private func end() async {
        for process in [process] + next.withLock({ $0 }) { _ = await process.terminate(grace: .patient(.seconds(10))) }
        // Programs go on when a test kills the last daemon.
        for name in Files.names(in: run) where name.hasSuffix(".processes") {
            for line in (Files.text(of: "\(run)/\(name)") ?? "").split(separator: "\n") where line.hasPrefix("+") {
                let fields = line.split(separator: " ")
                guard fields.count > 2, let number = Int32(fields[1]), let time = UInt64(fields[2]) else { continue }
                try? ProcessIdentity(processID: number, startTime: time).send(.kill)
            }
        }
    }
}
