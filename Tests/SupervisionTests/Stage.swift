import Supervision
import SupervisionSimulation

typealias Event = Supervisor.Event
typealias Directive = Supervisor.Directive
typealias Change = Supervisor.Change
typealias Child = ChildSpecification
typealias Strategy = SupervisionPolicy.Strategy
typealias AutoShutdown = SupervisionPolicy.AutoShutdown

/// A supervisor with a clock that is moved by hand, for stories told step by step.
struct Stage {
    var supervisor: Supervisor
    var now: Duration = .seconds(1_000)

    /// Starts children in this order, and lets them become ready; backoff and intensity are out of the way unless a test asks for them.
    init(
        _ strategy: Strategy = .oneForOne,
        intensity: Int = 1_000,
        period: Duration = .seconds(60),
        backoff: Backoff = .none,
        autoShutdown: AutoShutdown = .never,
        seed: UInt64 = 0,
        isolatesFailures: Bool = false,
        running children: Child...
    ) {
        let policy = SupervisionPolicy(strategy, intensity: intensity, period: period, backoff: backoff, autoShutdown: autoShutdown)
        supervisor = Supervisor(policy: policy, seed: seed, isolatesFailures: isolatesFailures)
        run(children)
    }

    mutating func send(_ event: Event) -> [Directive] {
        supervisor.handle(event, now: now)
    }

    /// Starts children in this order and lets them become ready.
    mutating func run(_ children: Child...) { run(children) }

    private mutating func run(_ children: [Child]) {
        for child in children { _ = settle(send(.startRequested(child))) }
    }

    /// Does at once what the supervisor says, until nothing is left to do.
    mutating func settle(_ directives: [Directive], answer: (Directive) -> Event? = { $0.usualAnswer }) -> [Directive] {
        supervisor.settle(directives, now: now, answer: answer)
    }

    func incarnation(_ id: String) -> Incarnation {
        supervisor.state(of: id)?.incarnation ?? 0
    }

    /// The life that the supervisor believes in ends.
    mutating func exit(_ id: String, _ reason: ExitReason = .failed("x")) -> [Directive] {
        send(.exited(id, incarnation(id), reason))
    }

    /// The start that the supervisor waits for succeeds.
    mutating func ready(_ id: String) -> [Directive] {
        send(.started(id, incarnation(id)))
    }

    /// The start that the supervisor waits for fails.
    mutating func fail(_ id: String, _ reason: ExitReason = .startFailed("x")) -> [Directive] {
        send(.startFailed(id, incarnation(id), reason))
    }

    /// A ready child crashes, and comes back if it's started again at once.
    @discardableResult
    mutating func crash(_ id: String) -> [Directive] {
        let directives = exit(id)
        if case .starting = state(id) { _ = ready(id) }
        return directives
    }

    /// A child is told to stop, and does.
    mutating func stop(_ id: String) {
        _ = send(.stopRequested(id))
        _ = exit(id, .shutdown)
    }

    mutating func pass(_ duration: Duration) -> [Directive] {
        now += duration
        return send(.timePassed)
    }

    func state(_ id: String) -> ChildState? {
        supervisor.state(of: id)
    }
}
