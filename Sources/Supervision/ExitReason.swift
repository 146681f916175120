/// Why a life of a child ended, or why it never began.
public enum ExitReason: Sendable, Hashable, Codable {
    /// It had nothing left to do.
    case normal
    /// It was told to stop, and did.
    case shutdown
    /// It threw; the text describes the error.
    case failed(String)
    /// Its process ended with this exit code.
    case exited(code: Int32)
    /// Its process was ended by this signal.
    case signaled(Int32)
    /// It gave no sign of life for too long, and was killed for it.
    case hung
    /// Its start threw; the text describes the error.
    case startFailed(String)
    /// It was not ready in time.
    case startTimedOut
    /// It did not stop in time, and was killed or abandoned.
    case stopTimedOut
    /// It was a supervisor and gave up; the text says on whom and why.
    case escalated(String)
    /// It is gone, and nobody saw how: an adopted process has no exit status.
    case unknown

    /// Whether the child ended as it should have: what ``RestartType/transient`` does not restart.
    public var isNormal: Bool {
        switch self {
        case .normal, .shutdown, .exited(code: 0):
            true
        case .failed, .exited, .signaled, .hung, .startFailed, .startTimedOut, .stopTimedOut, .escalated, .unknown:
            false
        }
    }

    /// Whether starting it again is pointless, whatever its restart type.
    ///
    /// True for exit code 78 (`EX_CONFIG` of sysexits(3)) and 125 (s6's permanent failure, https://skarnet.org/software/s6/servicedir.html).
    public var isPermanentFailure: Bool {
        switch self {
        case .exited(code: 78), .exited(code: 125):
            true
        case .normal, .shutdown, .failed, .exited, .signaled, .hung, .startFailed, .startTimedOut, .stopTimedOut, .escalated, .unknown:
            false
        }
    }
}

extension ExitReason: CustomStringConvertible {
    /// The reason in words, fit for a sentence that says what happened to a child.
    public var description: String {
        switch self {
        case .normal: "normal"
        case .shutdown: "shutdown"
        case .failed(let error): "failed: \(error)"
        case .exited(let code): "exited with code \(code)"
        case .signaled(let signal): "ended by signal \(signal)"
        case .hung: "hung"
        case .startFailed(let error): "failed to start: \(error)"
        case .startTimedOut: "was not ready in time"
        case .stopTimedOut: "did not stop in time"
        case .escalated(let text): "escalated: \(text)"
        case .unknown: "ended for an unknown reason"
        }
    }
}
