import Processes
import WireProtocol

extension ExitReason {
    /// Creates the reason from a worker's own report of its end.
    init(_ exit: Exit) {
        self =
            switch exit.kind {
            case .normal: .normal
            case .shutdown: .shutdown
            case .failed: .failed(exit.message.shortened)
            case .exitCode: .exited(code: exit.code)
            case .signal: .signaled(exit.code)
            case .hung: .hung
            case .startFailed: .startFailed(exit.message.shortened)
            case .escalated: .escalated(exit.message.shortened)
            default: .unknown
            }
    }

    /// Creates the reason from the kernel's status of a process.
    init(_ status: ExitStatus) {
        self =
            switch status {
            case .unknown: .unknown
            case .exited(let code): .exited(code: code)
            case .signaled(let signal, _): .signaled(signal.rawValue)
            }
    }

    var onWire: Exit {
        switch self {
        case .normal: Exit(kind: .normal)
        case .shutdown: Exit(kind: .shutdown)
        case .failed(let message): Exit(kind: .failed, message: message.shortened)
        case .exited(let code): Exit(kind: .exitCode, code: code)
        case .signaled(let signal): Exit(kind: .signal, code: signal)
        case .hung: Exit(kind: .hung)
        case .startFailed(let message): Exit(kind: .startFailed, message: message.shortened)
        case .startTimedOut: Exit(kind: .startFailed, message: "was not ready in time")
        case .stopTimedOut: Exit(kind: .failed, message: "did not stop in time")
        case .memoryExceeded, .killed, .outOfMemory: Exit(kind: .failed, message: description)
        case .escalated(let message): Exit(kind: .escalated, message: message.shortened)
        case .unknown: Exit(kind: .unknown)
        }
    }

    /// The exit status of a process that ends for this reason (sysexits(3)).
    var processExitCode: Int32 {
        switch self {
        case .normal, .shutdown: 0
        case .exited(let code): code
        case .failed, .signaled, .hung, .startFailed, .startTimedOut, .stopTimedOut, .memoryExceeded, .killed, .outOfMemory, .escalated,
            .unknown:
            1
        }
    }
}
