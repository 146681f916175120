/// The reason why an incarnation of a child ended, or why it never began.
///
/// More cases may be added.
@nonexhaustive
public enum ExitReason: Sendable, Hashable, Codable {
    /// The child had nothing left to do.
    case normal
    /// The child was asked to stop, and stopped.
    case shutdown
    /// The child threw an error, which the text describes.
    case failed(String)
    /// The child's process ended with this exit code.
    case exited(code: Int32)
    /// The child's process was ended by this signal.
    case signaled(Int32)
    /// The child didn't respond for too long, and was killed for it.
    case hung
    /// The child's start threw an error, which the text describes.
    case startFailed(String)
    /// The child was not ready in time.
    case startTimedOut
    /// The child did not stop in time, and was killed or abandoned.
    case stopTimedOut
    /// The child's process occupied more memory than its limit, and was killed for it. Its restart isn't counted against the limits of restarts.
    case memoryExceeded(bytes: Int, limit: Int)
    /// The child was asked to stop, and what was left of it after this time was killed.
    case killed(after: Duration)
    /// The kernel has killed the child's process, because its control group, or the machine, had no memory left.
    case outOfMemory
    /// The child was a supervisor and gave up; the text says on which of its children and why.
    case escalated(String)
    /// The child is gone, and the cause isn't known: an adopted process has no exit status.
    case unknown

    /// Whether the child ended as it should have.
    ///
    /// ``RestartType/transient`` doesn't restart a child after such an end.
    public var isNormal: Bool {
        switch self {
        case .normal, .shutdown, .exited(code: 0):
            true
        case .failed, .exited, .signaled, .hung, .startFailed, .startTimedOut, .stopTimedOut, .memoryExceeded, .killed, .outOfMemory,
            .escalated, .unknown:
            false
        }
    }

    /// Whether starting the child again is pointless, whatever its restart type.
    ///
    /// True for exit code 78 (`EX_CONFIG` of sysexits(3)) and 125 (s6's permanent failure,
    /// https://skarnet.org/software/s6/servicedir.html).
    public var isPermanentFailure: Bool {
        switch self {
        case .exited(code: 78), .exited(code: 125):
            true
        case .normal, .shutdown, .failed, .exited, .signaled, .hung, .startFailed, .startTimedOut, .stopTimedOut, .memoryExceeded,
            .killed, .outOfMemory, .escalated, .unknown:
            false
        }
    }

    /// Whether the child was told to stop, and was killed or abandoned because it didn't within its time.
    package var isForced: Bool {
        switch self {
        case .killed(let time): time > .zero
        case .stopTimedOut: true
        case .normal, .shutdown, .failed, .exited, .signaled, .hung, .startFailed, .startTimedOut, .memoryExceeded, .outOfMemory,
            .escalated, .unknown:
            false
        }
    }

    /// Whether the end says nothing about a restart: a limit of memory is a measure against what leaks, which the next life is free of.
    var isCounted: Bool { if case .memoryExceeded = self { false } else { true } }
}

extension ExitReason: CustomStringConvertible {
    /// The reason in words, fit for a sentence that says what happened to a child.
    public var description: String {
        switch self {
        case .normal: "normal"
        case .shutdown: "shutdown"
        case .failed(let error): "failed: \(error)"
        case .exited(let code): "exited with code \(code)"
        case .signaled(9): "killed by signal 9 from outside"
        case .signaled(let signal): "ended by signal \(signal)"
        case .hung: "hung"
        case .startFailed(let error): "failed to start: \(error)"
        case .startTimedOut: "was not ready in time"
        case .stopTimedOut: "did not stop in time"
        case .memoryExceeded(let bytes, let limit): "occupied \(bytes) bytes of memory, more than its limit of \(limit)"
        case .killed(after: .zero): "killed at once"
        case .killed(let time): "not stopped within \(time.inWords), killed"
        case .outOfMemory: "killed: out of memory"
        case .escalated(let text): "escalated: \(text)"
        case .unknown: "ended for an unknown reason"
        }
    }
}

extension Duration {
    /// The duration as it is written in files, such as 10s or 500ms; fractions of a millisecond are left out.
    fileprivate var inWords: String {
        let (seconds, attoseconds) = components
        let milliseconds = seconds.multipliedReportingOverflow(by: 1_000).partialValue &+ attoseconds / 1_000_000_000_000_000
        return milliseconds % 1_000 == 0 ? "\(seconds)s" : "\(milliseconds)ms"
    }
}

extension ExitReason {
    /// The exit code of the child's process; nil: it hasn't ended with one, or that isn't known.
    package var exitCode: Int32? { if case .exited(let code) = self, code >= 0 { code } else { nil } }

    /// The number of the signal that has ended the child's process; nil: none has, or that isn't known.
    package var signal: Int32? { if case .signaled(let signal) = self { signal } else { nil } }
}
