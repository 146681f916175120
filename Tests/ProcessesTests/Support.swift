import Glibc
import Processes
import TestSupport
import Testing

/// Testing has one too.
typealias ExitStatus = Processes.ExitStatus

extension Transcript {
    /// The first line, when it is there.
    func line(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        try await eventually("a line of output", fileID: sourceLocation.fileID, line: sourceLocation.line) { self.text.contains("\n") }
        return String(text.prefix { $0 != "\n" })
    }

    /// The number of a process that the child wrote as its first line.
    func processID(sourceLocation: SourceLocation = #_sourceLocation) async throws -> Int32 {
        try #require(Int32(try await line(sourceLocation: sourceLocation)), sourceLocation: sourceLocation)
    }
}

/// A shell script.
func shell(_ script: String) -> ProcessSpecification {
    ProcessSpecification(executable: "/bin/sh", arguments: ["-c", script])
}

extension ProcessSpecification {
    /// The same, with output and error collected.
    func collecting(_ output: Transcript, error: Transcript? = nil) -> ProcessSpecification {
        var copy = self
        copy.standardOutput = output.destination
        if let error { copy.standardError = error.destination }
        return copy
    }
}

/// Runs to the end: how it ended and what it wrote to standard output.
func run(_ specification: ProcessSpecification) async throws -> (ExitStatus, String) {
    let output = Transcript()
    let status = try await withChild(specification.collecting(output)) { await $0.waitForExit() }
    return (status, output.text)
}

/// Whether the process is still a child of ours, running or unreaped.
func isOurChild(_ processID: Int32) -> Bool {
    var information = siginfo_t()
    return waitid(P_PID, id_t(processID), &information, WEXITED | WNOHANG | WNOWAIT) == 0
}

/// Waits for the end of a child of ours that isn't waited for otherwise, and returns how it ended, such as `CLD_KILLED`; nil if it's none.
func reap(_ processID: Int32) -> Int32? {
    var information = siginfo_t()
    return waitid(P_PID, id_t(processID), &information, WEXITED) == 0 ? information.si_code : nil
}

/// Runs a child whose first line of output is the number of a process that it has begun, and which ends with the body.
func withGrandchild(
    of spawner: ProcessSpawner = .shared,
    _ specification: ProcessSpecification,
    _ body: (_ child: ChildProcess, _ grandchild: ProcessIdentity, _ output: Transcript) async throws -> Void
) async throws {
    let output = Transcript()
    try await withChild(of: spawner, specification.collecting(output)) { child in
        let grandchild = try #require(ProcessIdentity(processID: try await output.processID()))
        defer { try? grandchild.send(.kill) }
        try await body(child, grandchild, output)
    }
}

/// A close-on-exec pipe: (reading, writing).
func makePipe() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}
