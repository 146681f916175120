import Glibc
import Processes
import Synchronization
import Testing

/// Testing has one too.
typealias ExitStatus = Processes.ExitStatus

/// What a child wrote, and whether the end has come.
final class Collector: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var ends = 0
    }

    private let state = Mutex(State())

    var destination: OutputDestination {
        .captured { [self] bytes in
            state.withLock { state in
                if bytes.isEmpty { state.ends += 1 }
                state.bytes += bytes
            }
        }
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// How often the end was told.
    var ends: Int { state.withLock { $0.ends } }

    /// The first line, when it is there.
    func line(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        try await eventually("a line of output", sourceLocation: sourceLocation) { self.text.contains("\n") }
        return String(text.prefix { $0 != "\n" })
    }

    /// The number of a process that the child wrote as its first line.
    func processID(sourceLocation: SourceLocation = #_sourceLocation) async throws -> Int32 {
        try #require(Int32(try await line(sourceLocation: sourceLocation)), sourceLocation: sourceLocation)
    }
}

struct TimedOut: Error {}

/// Waits until something holds; fails after ten seconds.
func eventually(
    _ what: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now.advanced(by: .seconds(10))
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("still waiting for \(what)", sourceLocation: sourceLocation)
            throw TimedOut()
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Runs a child as long as the body, and ends it whatever happens.
func withChild<Result>(
    of spawner: ProcessSpawner = .shared,
    _ specification: ProcessSpecification,
    _ body: (ChildProcess) async throws -> Result
) async throws -> Result {
    let child = try await spawner.spawn(specification)
    do {
        let result = try await body(child)
        _ = await child.terminate(grace: .zero)
        return result
    } catch {
        _ = await child.terminate(grace: .zero)
        throw error
    }
}

/// A shell script.
func shell(_ script: String) -> ProcessSpecification {
    ProcessSpecification(executable: "/bin/sh", arguments: ["-c", script])
}

extension ProcessSpecification {
    /// The same, with output and error collected.
    func collecting(_ output: Collector, error: Collector? = nil) -> ProcessSpecification {
        var copy = self
        copy.standardOutput = output.destination
        if let error { copy.standardError = error.destination }
        return copy
    }
}

/// Runs to the end: how it ended and what it wrote to standard output.
func run(_ specification: ProcessSpecification) async throws -> (ExitStatus, String) {
    let output = Collector()
    let status = try await withChild(specification.collecting(output)) { await $0.waitForExit() }
    return (status, output.text)
}

/// The names in a directory.
func names(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        // Unsafe: the name is a fixed array of the C structure, ended by NUL.
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// The numbers in a directory of /proc.
func numbers(in directory: String) -> [Int] { names(in: directory).compactMap(Int.init).sorted() }

/// Whether the process is still a child of ours, running or unreaped.
func isOurChild(_ processID: Int32) -> Bool {
    var information = siginfo_t()
    return waitid(P_PID, id_t(processID), &information, WEXITED | WNOHANG | WNOWAIT) == 0
}

/// A directory that lives as long as the body.
func withTemporaryDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    var template = Array("/tmp/processes-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TimedOut() }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer {
        for name in names(in: path) { unlink(path + "/" + name) }
        rmdir(path)
    }
    return try await body(path)
}

/// A file with a content and permissions.
func write(_ text: String, to path: String, mode: mode_t) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    try #require(write(descriptor, bytes, bytes.count) == bytes.count)
}

/// A close-on-exec pipe: (reading, writing).
func makePipe() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}
