import ConcurrencySupport
import Glibc

/// The failures that a client finds itself, without an answer of the daemon.
extension ControlError {
    static func unreachable(at socket: String) -> ControlError {
        ControlError(
            .unreachable,
            "the daemon isn't reachable at \(socket); start it with `\(startCommand(at: socket))`, or name its runtime directory with --runtime-dir",
            maybeExecuted: false
        )
    }

    /// The command that starts the daemon which listens at a socket: of the package's daemon that of its unit, since one that is started by hand
    /// has another user, and another directory for its logs.
    package static func startCommand(at socket: String, units: String = "/lib/systemd/system") -> String {
        let isPackaged = socket == "/run/coordinator/control.sock" && access("\(units)/coordinatord.service", F_OK) == 0
        return isPackaged ? "systemctl start coordinatord" : "coordinatord --config FILE"
    }

    static func mayNotOpen(_ socket: String) -> ControlError {
        ControlError(.notPermitted, "you may not open \(socket); the daemon's user, root and the groups of its `operators` may")
    }

    static func takesNoConnections(at socket: String) -> ControlError {
        ControlError(.timedOut, "the daemon doesn't take connections at \(socket); it may be stopped or overloaded", maybeExecuted: false)
    }

    static func speaksAnotherProtocol(at socket: String) -> ControlError {
        ControlError(.failed, "what answers at \(socket) doesn't speak the control protocol")
    }

    static func daemonGone(from socket: String) -> ControlError {
        ControlError(
            .unreachable,
            "the daemon at \(socket) went away before it answered; look at its log, and whether it runs",
            maybeExecuted: true
        )
    }

    static func silent(at socket: String) -> ControlError {
        ControlError(
            .timedOut,
            "the daemon at \(socket) answers no questions; it may still be carrying the request out",
            maybeExecuted: true
        )
    }

    static func goesOn(at socket: String) -> ControlError {
        ControlError(.timedOut, "the daemon at \(socket) is carrying the request out", maybeExecuted: true)
    }

    /// The error of what isn't sent any more.
    static func notSent(to socket: String) -> ControlError {
        ControlError(.timedOut, "the request wasn't sent to the daemon at \(socket): the time for it was over", maybeExecuted: false)
    }

    static func noAnswer(from socket: String, within limit: Duration) -> ControlError {
        ControlError(
            .timedOut,
            "no answer from the daemon at \(socket) within \(limit.briefText); it may still be carrying the request out",
            maybeExecuted: true
        )
    }
}
