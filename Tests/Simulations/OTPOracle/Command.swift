import Supervision
import SupervisionSimulation

/// A command to both trees.
enum Command: Sendable {
    /// The reason of an end, as both know it.
    enum Reason: String, Sendable {
        case normal, shutdown, gone, failed, killed
        /// A failure that is permanent for ours only.
        case failedForGood

        var theirs: String { self == .failedForGood ? "failed" : rawValue }

        var ours: ExitReason {
            switch self {
            case .normal: .normal
            case .shutdown: .shutdown
            case .gone: .exited(code: 0)
            case .failed: .failed("x")
            case .killed: .signaled(9)
            case .failedForGood: .exited(code: 78)
            }
        }
    }

    /// The life at this place ends by itself; a supervisor's only by a kill.
    case end(Place, Reason)
    /// The next starts at this place: true for one that succeeds. Later ones do.
    case plan(Place, [Bool])
    case start(Place, ChildSpecification)
    case stop(Place)
    case remove(Place)
    case restart(Place)
    case setPolicy(group: Int, SupervisionPolicy)
    case setSpecification(Place, ChildSpecification)
    case shutDown(group: Int)

    /// The supervisor that the command concerns.
    var group: Int {
        switch self {
        case .end(let place, _), .plan(let place, _), .start(let place, _), .stop(let place), .remove(let place), .restart(let place),
            .setSpecification(let place, _):
            place.group
        case .setPolicy(let group, _), .shutDown(let group):
            group
        }
    }

    /// The command as a line of OTP's script.
    var line: String {
        switch self {
        case .end(let place, let reason): "end \(place.words) \(reason.theirs)"
        case .plan(let place, let starts): "plan \(place.words) \(String(starts.map { $0 ? "1" : "0" }))"
        case .start(let place, let specification): "start \(place.words) \(specification.words)"
        case .stop(let place): "stop \(place.words)"
        case .remove(let place): "remove \(place.words)"
        case .restart(let place): "restart \(place.words)"
        case .setPolicy(let group, let policy): "policy \(group) \(policy.words)"
        case .setSpecification(let place, let specification): "specification \(place.words) \(specification.words)"
        case .shutDown(let group): "shutdown \(group)"
        }
    }
}

extension Place {
    var words: String { "\(group) \(slot)" }
    /// The name of the place in the course of a step.
    var name: String { "\(group)\(id)" }
}

extension ChildSpecification {
    var words: String {
        let time =
            switch shutdown {
            case .brutalKill: "brutal_kill"
            case .infinity: "infinity"
            case .timeout(let duration), .draining(let duration): String(Int(duration / .milliseconds(1)))
            }
        return "\(restart.rawValue) \(time) \(isSignificant)"
    }
}

extension SupervisionPolicy {
    var words: String {
        let strategy =
            switch strategy {
            case .oneForOne: "one_for_one"
            case .oneForAll: "one_for_all"
            case .restForOne: "rest_for_one"
            }
        let autoShutdown =
            switch autoShutdown {
            case .never: "never"
            case .anySignificant: "any_significant"
            case .allSignificant: "all_significant"
            }
        return "\(strategy) \(intensity) \(Int(period / .seconds(1))) \(autoShutdown)"
    }
}
