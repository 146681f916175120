import Glibc

/// Stops a process by SIGSTOP, and returns when it's stopped: on a busy machine its other threads go on for a moment after the signal, until
/// the one that takes it gets a processor.
///
/// The caller has it go on by SIGCONT.
public func stopProcess(_ process: Int32) async throws {
    precondition(process > 1 && process != getpid(), "\(process) isn't a process to be stopped")
    kill(process, SIGSTOP)
    try await eventually("process \(process) is stopped") { Files.text(of: "/proc/\(process)/stat")?.contains(") T ") }
}
