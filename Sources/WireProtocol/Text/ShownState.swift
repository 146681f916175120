/// The state in which a coordinator or program is shown.
///
/// What the front-ends make of a state, such as an exit code, a colour or a metric, is a property here or a `switch` over all cases there, so
/// that a new state doesn't compile before each of them has an answer. The console's page has its own list, which its tests compare with this
/// one.
package enum ShownState: String, CaseIterable, Sendable, Hashable {
    /// It doesn't run: it was stopped, or has ended as it should.
    case inactive
    /// It doesn't run, and is started without a request once others let it: those before it are ready, or what it requires runs.
    case waiting
    /// It's being started.
    case starting
    /// It's ready.
    case active
    /// It's ready, and paused by an operator.
    case paused
    /// It's ending.
    case stopping
    /// It has failed and is started again, at once or after a delay.
    case restarting
    /// It has failed three times in a row or more, hasn't lived for long since, and is started again after a delay.
    case failing
    /// It's ready, and its health check has failed as often in a row as the check allows.
    case unhealthy
    /// It was given up.
    case failed
    /// Its process doesn't answer.
    case unresponsive

    /// Whether it does its work, or would if it weren't paused: then `status` exits with 0.
    package var isServing: Bool { self == .active || self == .paused }

    /// Whether its life goes on, so that it has an uptime.
    package var isRunning: Bool { isServing || self == .unhealthy }

    /// Whether it needs an operator who hasn't brought the state about.
    package var isTrouble: Bool {
        switch self {
        case .restarting, .failing, .unhealthy, .failed, .unresponsive: true
        case .inactive, .waiting, .starting, .active, .paused, .stopping: false
        }
    }

    /// The gauge that is 1 for what is in the state; nil: `coordinator_nodes` alone counts those in it.
    package var gauge: MetricFamily? {
        switch self {
        case .failing: .failing
        case .unhealthy: .unhealthy
        case .failed: .failed
        case .unresponsive: .unresponsive
        // What restarts is back soon, or is failing.
        case .inactive, .waiting, .starting, .active, .paused, .stopping, .restarting: nil
        }
    }

    /// The urgency of the state, by which lists are sorted: the greatest first.
    package var urgency: Int {
        switch self {
        case .active: 0
        case .inactive, .waiting: 1
        case .starting: 2
        case .stopping: 3
        case .paused: 4
        case .restarting: 5
        case .unhealthy: 6
        case .unresponsive: 7
        case .failing: 8
        case .failed: 9
        }
    }

    /// The exit code of `coordinatorctl status`.
    ///
    /// 0 and 3 are those of LSB's `status` action, which has none for what runs and doesn't do its work.
    package var statusExitCode: Int32 {
        switch self {
        case .active, .paused: 0
        case .unhealthy: 5
        case .inactive, .waiting, .starting, .stopping, .restarting, .failing, .failed, .unresponsive: 3
        }
    }

    /// The exit code for a state that a later version may have.
    package static let unknownStatusExitCode: Int32 = 3
}
