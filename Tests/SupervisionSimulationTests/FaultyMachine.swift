import Supervision
import SupervisionSimulation

/// A mistake that a supervisor could make; it stands between a supervisor that makes none and the world.
enum FaultyMachine: String, CaseIterable {
    /// One of the siblings that are to be stopped isn't.
    case forgetsASibling
    /// A child that was stopped by request is started again.
    case startsAStoppedChild
    /// One restart more than the intensity.
    case countsARestartTooLittle
    /// At the end children are stopped in start order.
    case stopsInStartOrder
    /// At the end the chain is stopped together with what is outside of it.
    case knowsNoChain
    /// A start has the number of an earlier life.
    case repeatsAnIncarnation
    /// It gives up and tells nobody.
    case neverEscalates
    /// It tells twice that it has given up.
    case escalatesTwice
    /// Nobody is asked to wake it.
    case losesAWake
    /// A child is forgotten and lives on.
    case removesWithoutStopping
    /// A child that waits for its restart can't be stopped.
    case ignoresAStopDuringBackoff
    /// A significant child's end doesn't matter.
    case neverShutsDownByItself
    /// A restart does not wait for its time.
    case restartsTooEarly

    /// Where children are counted by themselves, those of all are counted together all the same.
    case takesARestartFromASibling
    /// At the end a child that is only starting is stopped in its turn, and may be ready before.
    case letsStartsGoOnAtTheEnd

    /// A supervisor's companion for all its life, with a memory of its own.
    func mutation() -> Machine.Mutation {
        switch self {
        case .forgetsASibling:
            return { supervisor, event, now in
                var answer = supervisor.handle(event, now: now)
                // No request, no end: it is stopped for a sibling's sake.
                if case .exited = event, !supervisor.isEnding { answer.removeAll { if case .stop = $0 { true } else { false } } }
                return answer
            }
        case .startsAStoppedChild:
            return { supervisor, event, now in
                let answer = supervisor.handle(event, now: now)
                guard case .exited(let id, let incarnation, _) = event, supervisor.state(of: id) == .stopped, !supervisor.isEnding else {
                    return answer
                }
                return answer + [.start(id, incarnation + 1, attempt: 0)]
            }
        case .countsARestartTooLittle:
            return { supervisor, event, now in
                func lenient(_ policy: SupervisionPolicy) -> SupervisionPolicy {
                    var policy = policy
                    policy.intensity += 1
                    return policy
                }
                if case .policyChanged(let policy) = event { return supervisor.handle(.policyChanged(lenient(policy)), now: now) }
                if supervisor.ids.isEmpty, case .startRequested(let child) = event, child.id == "a" {
                    _ = supervisor.handle(.policyChanged(lenient(supervisor.policy)), now: now)
                }
                return supervisor.handle(event, now: now)
            }
        case .stopsInStartOrder:
            return { supervisor, event, now in
                let answer = supervisor.handle(event, now: now)
                guard supervisor.isEnding else { return answer }
                return answer.map { directive in
                    guard case .stop = directive else { return directive }
                    for child in supervisor.children {
                        guard case .running(let incarnation, _) = child.state else { continue }
                        return .stop(child.specification.id, incarnation, child.specification.shutdown)
                    }
                    return directive
                }
            }
        case .knowsNoChain:
            return { supervisor, event, now in
                guard case .startRequested(var specification) = event else { return supervisor.handle(event, now: now) }
                specification.stopPlace = .unordered
                return supervisor.handle(.startRequested(specification), now: now)
            }
        case .repeatsAnIncarnation:
            return { supervisor, event, now in
                supervisor.handle(event, now: now).map { directive in
                    guard case .start(let id, let incarnation, let attempt) = directive, incarnation > 1 else { return directive }
                    return .start(id, incarnation - 1, attempt: attempt)
                }
            }
        case .neverEscalates:
            return { supervisor, event, now in
                supervisor.handle(event, now: now).filter { if case .escalate = $0 { false } else { true } }
            }
        case .escalatesTwice:
            return { supervisor, event, now in
                supervisor.handle(event, now: now).flatMap { if case .escalate = $0 { [$0, $0] } else { [$0] } }
            }
        case .losesAWake:
            return { supervisor, event, now in
                supervisor.handle(event, now: now).filter { if case .wake = $0 { false } else { true } }
            }
        case .removesWithoutStopping:
            return { supervisor, event, now in
                guard case .removeRequested(let id) = event, let incarnation = supervisor.state(of: id)?.incarnation else {
                    return supervisor.handle(event, now: now)
                }
                return supervisor.handle(event, now: now).filter { if case .stop(id, _, _) = $0 { false } else { true } }
                    + supervisor.handle(.exited(id, incarnation, .shutdown), now: now)
            }
        case .ignoresAStopDuringBackoff:
            return { supervisor, event, now in
                if case .stopRequested(let id) = event, case .waiting = supervisor.state(of: id) { return [] }
                return supervisor.handle(event, now: now)
            }
        case .neverShutsDownByItself:
            return { supervisor, event, now in
                supervisor.handle(event, now: now).filter { if case .autoShutdown = $0 { false } else { true } }
            }
        case .restartsTooEarly:
            return { supervisor, event, now in
                var answer = supervisor.handle(event, now: now)
                for case .wake(let time) in answer where time > now {
                    answer += supervisor.handle(.timePassed, now: time)
                }
                return answer
            }
        case .takesARestartFromASibling:
            var restarts: [Duration] = []
            return { supervisor, event, now in
                let policy = supervisor.policy
                restarts.removeAll { $0 < now - policy.period }
                var strict = policy
                strict.intensity = 0
                var answer: [Machine.Directive] = []
                let isTooMany = restarts.count >= policy.intensity
                if isTooMany { answer += supervisor.handle(.policyChanged(strict), now: now) }
                answer += supervisor.handle(event, now: now)
                if isTooMany, supervisor.policy == strict { answer += supervisor.handle(.policyChanged(policy), now: now) }
                for case .report(_, _, .restarting) in answer { restarts.append(now) }
                return answer
            }
        case .letsStartsGoOnAtTheEnd:
            return { supervisor, event, now in
                let wasEnding = supervisor.isEnding
                let starting = Set(supervisor.children.filter { $0.state.kind == .starting }.map(\.specification.id))
                var answer = supervisor.handle(event, now: now)
                guard !wasEnding, supervisor.isEnding else { return answer }
                answer.removeAll { if case .stop(let id, _, _) = $0 { starting.contains(id) } else { false } }
                return answer
            }
        }
    }
}
