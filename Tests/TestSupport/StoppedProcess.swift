import Glibc
public import Processes

/// Stops a process by SIGSTOP, and returns when it's stopped: on a busy machine its threads go on for a moment after the signal, until the one
/// that takes it gets a processor.
///
/// The caller has it go on by SIGCONT.
public func stopProcess(_ process: Int32) async throws {
    precondition(process > 1 && process != getpid(), "\(process) isn't a process to be stopped")
    kill(process, SIGSTOP)
    let threads = "/proc/\(process)/task"
    try await eventually("process \(process) is stopped") {
        // A thread that has ended meanwhile has no file.
        Files.names(in: threads).allSatisfy { Files.text(of: "\(threads)/\($0)/stat")?.contains(") T ") != false }
    }
}

/// Does the same for a process that is known by its start, too.
public func stopProcess(_ process: ProcessIdentity) async throws { try await stopProcess(process.processID) }

/// Does the same for a child of this process.
public func stopProcess(_ process: ChildProcess) async throws { try await stopProcess(process.identity) }
