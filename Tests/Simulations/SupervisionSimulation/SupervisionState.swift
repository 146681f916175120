import SimulationSupport
package import Supervision

/// A few children, to which all that is possible happens: a start succeeds or fails, a stop is answered, a life ends in one of two ways, a
/// child is wanted, stopped, removed or restarted, the time that is waited for comes, the supervisor is asked to end.
///
/// Two states are the same when what the checker knows of them differs at most by incarnations and the present time.
package struct SupervisionState: Explorable {
    private let children: [ChildSpecification]
    private var watched: Watched
    private var now = Duration.seconds(1_000)

    /// Returns the explorations for every strategy, each with a choice of restart types and of an auto shutdown, and one of children that
    /// are counted by themselves, one of them with limits of its own.
    package static func all(children: Int, mutation: (() -> Watched.Mutation)? = nil) -> [Exploration<SupervisionState>] {
        let backoff = Backoff(minimum: .seconds(1), maximum: .seconds(1), jitter: 0, resetAfter: .seconds(2))
        let casts: [[RestartType]] = [[.permanent, .permanent, .permanent], [.permanent, .transient, .temporary]]
        var all: [Exploration<SupervisionState>] = []
        for strategy in SupervisionPolicy.Strategy.allCases {
            for cast in casts {
                let isMixed = cast.contains(.transient) && children > 1
                let autoShutdown: SupervisionPolicy.AutoShutdown =
                    isMixed ? (strategy == .oneForAll ? .anySignificant : .allSignificant) : .never
                let specifications = zip(Place.ids, cast).prefix(children).map { id, restart in
                    ChildSpecification(
                        id: id,
                        restart: restart,
                        isSignificant: autoShutdown != .never && restart != .permanent,
                        isRetriedAtFirstStart: restart == .transient
                    )
                }
                let policy = SupervisionPolicy(strategy, intensity: 2, period: .seconds(2), backoff: backoff, autoShutdown: autoShutdown)
                let name = "\(strategy), auto shutdown \(autoShutdown), \(cast.prefix(children).map(\.rawValue).joined(separator: ", "))"
                all.append(exploration(name, specifications, Watched(policy, mutation: mutation?())))
            }
        }
        let policy = SupervisionPolicy(intensity: 1, period: .seconds(2), backoff: backoff)
        let specifications = Place.ids.prefix(children).enumerated().map { number, id in
            ChildSpecification(id: id, restartLimits: number == 1 ? RestartLimits(intensity: .unlimited, backoff: backoff) : nil)
        }
        let isolating = Watched(policy, isolatesFailures: true, mutation: mutation?())
        return all + [exploration("oneForOne, each counted by itself", specifications, isolating)]
    }

    private static func exploration(
        _ description: String,
        _ children: [ChildSpecification],
        _ watched: Watched
    ) -> Exploration<SupervisionState> {
        Exploration(
            description,
            from: SupervisionState(children: children, watched: watched),
            after: children.map { .startRequested($0) }
        )
    }

    package var key: some Hashable { watched.checker.normalised(at: now) }

    package mutating func make(_ event: Supervisor.Event) throws(Violation) {
        if case .timePassed = event { now = max(now, watched.wake ?? now + watched.supervisor.policy.period) }
        var answer: [Supervisor.Directive] = []
        try watched.handle(event, now: now, answer: &answer)
    }

    package var moves: [Supervisor.Event] {
        if watched.isOver { return [] }
        return [.timePassed] + children.flatMap(moves) + [.shutdownRequested(.shutdown)]
    }

    private func moves(of child: ChildSpecification) -> [Supervisor.Event] {
        let id = child.id
        let requests: [Supervisor.Event] = [.startRequested(child), .stopRequested(id), .removeRequested(id), .restartRequested(id)]
        switch watched.life(id) {
        case nil: return requests
        case (let life, _, true)?: return [.exited(id, life, .shutdown)] + requests
        case (let life, true, false)?: return [.exited(id, life, .hung), .exited(id, life, .normal)] + requests
        case (let life, false, false)?: return [.started(id, life), .startFailed(id, life, .startTimedOut)] + requests
        }
    }
}
