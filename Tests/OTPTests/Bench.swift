import Coordinators
import Fixtures
import Testing

/// A supervisor that a test drives, whatever carries it.
///
/// Children are named by their keys, those of nested supervisors by paths: `sub/leaf`. The empty key is the supervisor itself.
protocol Bench: Sendable {
    /// Starts a child (OTP's `start_child`).
    func start(_ plan: Plan) async -> Outcome
    /// Stops a child and keeps its specification, unless it's temporary (`terminate_child`).
    func stop(_ key: String) async -> Outcome
    /// Starts a stopped child again (`restart_child`).
    func startAgain(_ key: String) async -> Outcome
    /// Stops a child if it lives, and forgets it (`delete_child`).
    func remove(_ key: String) async -> Outcome
    /// Gives a child a new life.
    func restart(_ key: String) async -> Outcome
    /// Has a child end by itself.
    func end(_ key: String, _ way: OTP.Way) async
    /// Tells the supervisor to end.
    func beginShutDown() async
    /// The children of a supervisor in start order, or nil when it isn't there.
    func children(of key: String) async -> [Seen]?
    /// The changes of the children, and of the supervisor, so far.
    var log: [Entry] { get async }
}

/// The result of a request.
enum Outcome: Sendable, Hashable {
    case done
    /// The start has failed, with what it threw.
    case failed
    /// The request is invalid.
    case invalid
    /// There is no such child, or the supervisor has ended.
    case unknown
    /// A child of another type has the key.
    case taken
}

/// A child as it's seen from outside.
struct Seen: Sendable, Hashable, CustomStringConvertible {
    enum State: Sendable, Hashable {
        /// Ready, in this incarnation.
        case ready(UInt32)
        case changing, stopped
    }

    var key: String
    var state: State

    var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// `a:2` is ready in its second life, `a:-` is stopped and its specification kept, `a:~` is on its way up or down.
    var description: String {
        switch state {
        case .ready(let life): "\(key):\(life)"
        case .changing: "\(key):~"
        case .stopped: "\(key):-"
        }
    }
}

/// A change of a child.
struct Entry: Sendable, Hashable {
    var key: String
    var change: LifecycleChange

    /// The exit reason, if this change is an end.
    var end: ExitReason? {
        switch change {
        case .stopped(let reason), .crashed(let reason): reason
        case .started, .restarted, .paused, .resumed, .startFailed, .gaveUp: nil
        }
    }

    /// `a+` is ready, `a-` has ended, `a!` could not be started, `ax` is given up.
    var sign: String? {
        switch change {
        case .started, .restarted: "\(key)+"
        case .stopped, .crashed: "\(key)-"
        case .startFailed: "\(key)!"
        case .gaveUp: "\(key)x"
        case .paused, .resumed: nil
        }
    }
}

/// Runs a case on a backend with a supervisor of a policy and its first children; does nothing when the test isn't for the backend.
func withBench(
    _ backend: Backend,
    _ policy: Policies = .oneForOne,
    _ children: Plan...,
    body: (any Bench) async throws -> Void
) async throws {
    guard try Skips.fits(backend) else { return }
    var top = Plan.supervisor("top", policy, restart: .temporary)
    top.children = children
    switch backend {
    case .machine: try await body(MachineBench(top))
    case .inProcess: try await TreeBench.run(top, inWorkers: false, body)
    case .worker: try await TreeBench.run(top, inWorkers: true, body)
    }
}
