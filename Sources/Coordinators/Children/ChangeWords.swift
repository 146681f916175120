import ConcurrencySupport
import Logging
import Supervision

/// What a log says of a change: a predicate whose subject is the child's path, and a word that stays the same whatever its reason is.
struct ChangeWords {
    let name: String
    let predicate: String
    var reason: ExitReason?

    init(_ change: Supervisor.Change, at now: MonotonicTime) {
        switch change {
        case .restarting(let attempt, let time):
            let delay = max(.zero, time - now.sinceOrigin)
            self.init(name: "restarting", predicate: "is restarted in \(delay) (restart \(attempt) in a row)")
        case .started: self.init(.started)
        case .restarted: self.init(.restarted)
        case .stopped(let reason): self.init(.stopped(reason))
        case .crashed(let reason): self.init(.crashed(reason))
        case .startFailed(let reason): self.init(.startFailed(reason))
        case .gaveUp(let reason): self.init(.gaveUp(reason))
        }
    }

    private init(name: String, predicate: String) {
        (self.name, self.predicate) = (name, predicate)
    }

    init(_ change: LifecycleChange) {
        reason = change.exitReason
        (name, predicate) =
            switch change {
            case .started: ("started", "is ready")
            case .stopped(let reason): ("stopped", "stopped: \(reason)")
            case .crashed(let reason): ("crashed", "crashed: \(reason)")
            case .restarted: ("restarted", "is ready again")
            case .paused: ("paused", "is paused")
            case .resumed: ("resumed", "goes on")
            case .startFailed(let reason): ("start_failed", "could not be started: \(reason)")
            case .gaveUp(let reason): ("gave_up", "was given up: \(reason)")
            }
    }

    func metadata(_ path: CoordinatorPath, _ processID: Int32?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["coordinator.path": "\(path)", "change": "\(name)"]
        metadata["pid"] = processID.map { .stringConvertible($0) }
        metadata["code"] = (reason?.exitCode).map { .stringConvertible($0) }
        metadata["signal"] = (reason?.signal).map { .stringConvertible($0) }
        return metadata
    }
}

extension LifecycleChange {
    /// The exit reason of an end.
    package var exitReason: ExitReason? {
        switch self {
        case .stopped(let reason), .crashed(let reason), .startFailed(let reason), .gaveUp(let reason): reason
        case .started, .restarted, .paused, .resumed: nil
        }
    }
}
