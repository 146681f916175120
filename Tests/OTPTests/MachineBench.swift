import Coordinators
import Fixtures

/// The supervision machine, with children that are no more than their plans and with a clock that is moved by hand.
actor MachineBench: Bench {
    private let world = MachineWorld()
    private let top: MachineSupervisor

    init(_ plan: Plan) {
        let world = world
        top = MachineSupervisor(plan, path: "", world)
        top.begin(
            ready: { world.log.append(Entry(key: "", change: .started)) },
            ended: { world.log.append(Entry(key: "", change: $0.isNormal ? .stopped($0) : .crashed($0))) }
        )
        world.settle()
    }

    var log: [Entry] { world.log }

    func start(_ plan: Plan) -> Outcome { request(plan.key) { $0.send(.startRequested(plan.specification), plan) } }

    func stop(_ key: String) -> Outcome {
        guard let (supervisor, id) = find(key), supervisor.machine.state(of: id) != nil else { return .unknown }
        supervisor.send(.stopRequested(id))
        return ends(id, of: supervisor)
    }

    func remove(_ key: String) -> Outcome {
        guard let (supervisor, id) = find(key), supervisor.machine.state(of: id) != nil else { return .unknown }
        supervisor.send(.removeRequested(id))
        return ends(id, of: supervisor)
    }

    func startAgain(_ key: String) -> Outcome {
        guard let (supervisor, id) = find(key), let plan = supervisor.plans[id], supervisor.machine.state(of: id) != nil else {
            return .unknown
        }
        return request(key) { $0.send(.startRequested(plan.specification), plan) }
    }

    func restart(_ key: String) -> Outcome {
        guard let (supervisor, id) = find(key), supervisor.machine.state(of: id) != nil else { return .unknown }
        return request(key) { $0.send(.restartRequested(id)) }
    }

    func end(_ key: String, _ way: OTP.Way) {
        guard let (supervisor, id) = find(key), let life = supervisor.machine.state(of: id)?.incarnation else { return }
        let reason: ExitReason =
            switch way {
            case .normally: .normal
            case .abnormally: .failed("told to fail")
            case .exiting(let code): .exited(code: code)
            case .killed: .signaled(9)
            }
        supervisor.send(.exited(id, life, reason))
        world.settle()
    }

    func beginShutDown() {
        top.send(.shutdownRequested(.shutdown))
        world.settle()
    }

    func children(of key: String) -> [Seen]? {
        guard let supervisor = key.isEmpty ? top : find(key).flatMap({ $0.nested[$1] }), !supervisor.hasEnded else { return nil }
        return supervisor.machine.children.map { specification, state in
            let seen: Seen.State =
                switch state {
                case .running(let life, _): .ready(life)
                case .starting, .stopping, .waiting: .changing
                case .stopped: .stopped
                }
            return Seen(key: specification.id, state: seen)
        }
    }

    /// Lets a little time pass.
    func pass() { world.advance(by: .milliseconds(10)) }

    private func request(_ key: String, _ send: (MachineSupervisor) -> Void) -> Outcome {
        guard let (supervisor, id) = find(key), !supervisor.machine.isEnding else { return .unknown }
        supervisor.lastRefusal = nil
        let isFirst = supervisor.machine.state(of: id) == nil
        send(supervisor)
        world.settle()
        if supervisor.lastRefusal != nil { return .invalid }
        // A stop that the start waits for may take its time.
        while case .stopping = supervisor.machine.state(of: id), world.advance() {}
        switch supervisor.machine.state(of: id) {
        case .running: return .done
        // One that declines has been started.
        case nil where isFirst && supervisor.plans[id]?.declines(in: 1) == true: return .done
        case .starting, .stopping, .waiting, .stopped, nil: return .failed
        }
    }

    private func ends(_ id: String, of supervisor: MachineSupervisor) -> Outcome {
        world.settle()
        while case .stopping = supervisor.machine.state(of: id), world.advance() {}
        return .done
    }

    /// The supervisor of the child at a path, and the child's key there.
    private func find(_ path: String) -> (MachineSupervisor, String)? {
        var supervisor = top
        var keys = path.split(separator: "/").map(String.init)
        guard let last = keys.popLast() else { return nil }
        for key in keys {
            guard let next = supervisor.nested[key] else { return nil }
            supervisor = next
        }
        return supervisor.hasEnded ? nil : (supervisor, last)
    }
}
