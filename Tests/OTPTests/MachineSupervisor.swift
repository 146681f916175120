import Coordinators
import Fixtures
import Supervision

/// One life of a simulated supervisor: the machine, and children that do as planned at once.
final class MachineSupervisor {
    private(set) var machine: Supervisor
    private(set) var plans: [String: Plan] = [:]
    private(set) var nested: [String: MachineSupervisor] = [:]
    private(set) var hasEnded = false
    var lastRefusal: SupervisionError?

    private let plan: Plan
    private let path: String
    private unowned let world: MachineWorld
    private var whenEnded: (ExitReason) -> Void = { _ in }

    init(_ plan: Plan, path: String, _ world: MachineWorld) {
        self.plan = plan
        self.path = path
        self.world = world
        machine = Supervisor(policy: plan.policy?.policy ?? SupervisionPolicy())
    }

    /// Starts the planned children one after the other; the first that fails ends the start.
    func begin(ready: @escaping () -> Void, ended: @escaping (ExitReason) -> Void) {
        whenEnded = ended
        for child in plan.children {
            send(.startRequested(child.specification), child)
            world.settle()
            guard case .running = machine.state(of: child.key) else {
                if child.declines(in: 1) { continue }
                whenEnded = { _ in ended(.startFailed("\(child.key) failed to start")) }
                return send(.shutdownRequested(.shutdown))
            }
        }
        ready()
    }

    func send(_ event: Supervisor.Event, _ plan: Plan? = nil) {
        // What is refused, and what is there already, changes no plan.
        if let plan, machine.state(of: plan.key)?.incarnation == nil { plans[plan.key] = plan }
        for directive in machine.handle(event, now: world.now) { perform(directive) }
    }

    private func later(_ event: Supervisor.Event) {
        world.soon { [weak self] in self?.send(event) }
    }

    private func perform(_ directive: Supervisor.Directive) {
        switch directive {
        case .start(let id, let life, _): start(id, life)
        case .stop(let id, let life, let shutdown): stop(id, life, shutdown)
        case .report(let id, _, let change): note(id, change)
        case .removed(let id): if nested[id]?.hasEnded != false { nested[id] = nil }
        case .wake(let time): world.at(time) { [weak self] in self?.send(.timePassed) }
        case .escalate(let reason): end(reason)
        case .terminated(let reason): end(reason)
        case .autoShutdown: end(.shutdown)
        case .refused(_, let error): lastRefusal = error
        }
    }

    private func end(_ reason: ExitReason) {
        hasEnded = true
        whenEnded(reason)
    }

    private func start(_ id: String, _ life: Incarnation) {
        guard let plan = plans[id] else { return }
        let isFaulty = plan.policy.map { (try? $0.policy.validate()) == nil } ?? false
        if isFaulty || plan.fails(in: life) { return later(.startFailed(id, life, .startFailed("planned"))) }
        if plan.declines(in: life) { return later(.finished(id, life)) }
        guard plan.policy != nil else { return later(.started(id, life)) }
        let supervisor = MachineSupervisor(plan, path: path.isEmpty ? id : "\(path)/\(id)", world)
        nested[id] = supervisor
        world.soon { [weak self] in
            supervisor.begin(
                ready: { self?.send(.started(id, life)) },
                ended: { reason in self?.later(.exited(id, life, reason)) }
            )
        }
    }

    private func stop(_ id: String, _ life: Incarnation, _ shutdown: Shutdown) {
        if let supervisor = nested[id], !supervisor.hasEnded { return supervisor.send(.shutdownRequested(.shutdown)) }
        let needed = Duration.milliseconds(plans[id]?.stopMilliseconds ?? 0)
        let (time, reason): (Duration, ExitReason) =
            switch shutdown {
            case _ where plans[id]?.stopExitCode != nil: (.zero, .exited(code: plans[id]?.stopExitCode ?? 0))
            case .brutalKill: (.zero, .signaled(9))
            case .timeout(let limit) where needed > limit, .draining(let limit) where needed > limit: (limit, .stopTimedOut)
            case .timeout, .infinity, .draining: (needed, .shutdown)
            }
        world.at(world.now + time) { [weak self] in self?.send(.exited(id, life, reason)) }
    }

    private func note(_ id: String, _ change: Supervisor.Change) {
        let change: LifecycleChange? =
            switch change {
            case .started: .started
            case .stopped(let reason): .stopped(reason)
            case .crashed(let reason): .crashed(reason)
            case .restarting: nil
            case .restarted: .restarted
            case .startFailed(let reason): .startFailed(reason)
            case .gaveUp(let reason): .gaveUp(reason)
            }
        if let change { world.log.append(Entry(key: path.isEmpty ? id : "\(path)/\(id)", change: change)) }
    }
}
