import Control
import Glibc
import Processes
import Synchronization
import Testing
import WireProtocol

/// A real `coordinatord` in a directory of its own.
///
/// It's killed, with everything it has started, when the test forgets to end it.
final class RunningDaemon: Sendable {
    let directory: String
    let process: ChildProcess

    /// Where the built executables are.
    static let binaries: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }()

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private init(directory: String, process: ChildProcess) {
        self.directory = directory
        self.process = process
    }

    /// Starts a daemon, runs the body, and ends the daemon whatever happens.
    static func with(_ configuration: String, _ body: (RunningDaemon) async throws -> Void) async throws {
        let daemon = try await start(configuration)
        do {
            try await body(daemon)
        } catch {
            await daemon.end()
            throw error
        }
        await daemon.end()
    }

    static func start(_ configuration: String) async throws -> RunningDaemon {
        var template = Array("/tmp/coordinatord-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(description: "no temporary directory") }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        try write(configuration.replacing("FIXTURE", with: "\(binaries)/FixtureWorker"), to: "\(directory)/tree.yaml")
        let process = try await spawn("coordinatord", ["--config", "\(directory)/tree.yaml", "--runtime-dir", "\(directory)/run"])
        let daemon = RunningDaemon(directory: directory, process: process)
        try await daemon.eventually("the daemon answers") {
            try await daemon.call(.ping); return true
        }
        return daemon
    }

    static func spawn(_ program: String, _ arguments: [String], output: OutputDestination = .null) async throws -> ChildProcess {
        try await ProcessSpawner.shared.spawn(
            ProcessSpecification(
                executable: "\(binaries)/\(program)",
                arguments: arguments,
                standardOutput: output,
                standardError: output.isNull ? .null : .sameAsOutput
            )
        )
    }

    /// Runs a program to its end: its exit code, and what it has printed.
    static func run(_ program: String, _ arguments: [String]) async throws -> (code: Int32, output: String) {
        let output = Output()
        let process = try await spawn(program, arguments, output: .captured { output.append($0) })
        let status = await process.waitForExit()
        guard case .exited(let code) = status else { throw Failure(description: "\(program): \(status)") }
        return (code, output.text)
    }

    func control(_ arguments: String...) async throws -> (code: Int32, output: String) {
        try await Self.run("coordinatorctl", ["--runtime-dir", "\(directory)/run"] + arguments)
    }

    @discardableResult
    func call(_ operation: Control.Operation) async throws -> JSONValue {
        let client = try await ControlClient.connect(runtimeDirectory: try RuntimeDirectory(path: "\(directory)/run"))
        defer { client.close() }
        return try await client.call(operation)
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

    /// All processes of the tree, the daemon's own excepted.
    func processes() async throws -> [ProcessIdentity] {
        let list = try ControlJSON.decode(ProcessList.self, from: try await call(.ps))
        return list.processes.filter { $0.pid != process.identity.processID }.map {
            ProcessIdentity(processID: $0.pid, startTime: $0.startTime)
        }
    }

    func eventually(_ what: String, within limit: Duration = .seconds(20), _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if (try? await condition()) == true { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failure(description: "never: \(what)")
    }

    var sockets: [String] {
        guard let stream = opendir("\(directory)/run") else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".sock") { names.append(name) }
        }
        return names
    }

    private func end() async {
        _ = await process.terminate(grace: .seconds(10))
        for name in sockets { unlink("\(directory)/run/\(name)") }
        for name in ["run/control.lock", "tree.yaml"] { unlink("\(directory)/\(name)") }
        rmdir("\(directory)/run")
        rmdir(directory)
    }

    static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(description: "\(path) can't be written") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure(description: "\(path) can't be written") }
    }
}

/// What a process has printed.
private final class Output: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }

    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
}

extension OutputDestination {
    fileprivate var isNull: Bool {
        if case .null = self { true } else { false }
    }
}
