import Supervision
import SupervisionSimulation

/// A mistake that our supervisor could make; it stands between a supervisor that makes none and its tree.
enum PlantedFault: String, CaseIterable {
    case allowsARestartTooMany
    case allowsARestartTooFew
    case restartsAllForTheRest
    case restartsTheRestForAll
    case restartsOneForTheRest
    case ignoresSignificance
    case endsAfterAnySignificantChild
    case restartsTransientChildrenAlways
    case leavesTransientChildrenAlways
    case keepsTemporaryChildren
    case forgetsStoppedChildren
    case retriesFirstStarts
    case stopsInStartOrder
    case endsTheChainFirst
    case neverGivesUp
    case countsItsEndAsAFailure

    /// A companion of one supervisor for all its life.
    func mutation() -> Machine.Mutation {
        switch self {
        case .allowsARestartTooMany: policy { $0.intensity += 1 }
        case .allowsARestartTooFew: policy { $0.intensity = max(0, $0.intensity - 1) }
        case .restartsAllForTheRest: policy { if $0.strategy == .restForOne { $0.strategy = .oneForAll } }
        case .restartsTheRestForAll: policy { if $0.strategy == .oneForAll { $0.strategy = .restForOne } }
        case .restartsOneForTheRest: policy { if $0.strategy == .restForOne { $0.strategy = .oneForOne } }
        case .endsAfterAnySignificantChild: policy { if $0.autoShutdown == .allSignificant { $0.autoShutdown = .anySignificant } }
        case .ignoresSignificance: specification { $0.isSignificant = false }
        case .keepsTemporaryChildren: specification { if $0.restart == .temporary { $0.restart = .transient } }
        case .endsTheChainFirst: specification { $0.stopPlace = $0.stopPlace == .chained ? .unordered : .chained }
        case .retriesFirstStarts: specification { $0.isRetriedAtFirstStart = true }
        case .restartsTransientChildrenAlways: end { $0 == .normal ? .failed("x") : $0 }
        case .leavesTransientChildrenAlways: end { $0 == .failed("x") ? .normal : $0 }
        case .forgetsStoppedChildren:
            { supervisor, event, now in
                if case .stopRequested(let id) = event { return supervisor.handle(.removeRequested(id), now: now) }
                return supervisor.handle(event, now: now)
            }
        case .stopsInStartOrder:
            { supervisor, event, now in
                let answer = supervisor.handle(event, now: now)
                guard supervisor.isEnding else { return answer }
                return answer.map { directive in
                    guard case .stop = directive else { return directive }
                    for (specification, state) in supervisor.children {
                        if case .running(let life, _) = state { return .stop(specification.id, life, specification.shutdown) }
                    }
                    return directive
                }
            }
        case .neverGivesUp:
            { supervisor, event, now in
                supervisor.handle(event, now: now).map { if case .escalate = $0 { .terminated(.shutdown) } else { $0 } }
                    .filter { if case .report(_, _, .gaveUp) = $0 { false } else { true } }
            }
        case .countsItsEndAsAFailure:
            { supervisor, event, now in
                supervisor.handle(event, now: now).map { if case .autoShutdown = $0 { .escalate(.escalated("x")) } else { $0 } }
            }
        }
    }

    private func policy(_ change: @escaping (inout SupervisionPolicy) -> Void) -> Machine.Mutation {
        var isNew = true
        return { supervisor, event, now in
            var event = event
            if isNew {
                isNew = false
                var policy = supervisor.policy
                change(&policy)
                _ = supervisor.handle(.policyChanged(policy), now: now)
            }
            if case .policyChanged(var policy) = event {
                change(&policy)
                event = .policyChanged(policy)
            }
            return supervisor.handle(event, now: now)
        }
    }

    private func specification(_ change: @escaping (inout ChildSpecification) -> Void) -> Machine.Mutation {
        { supervisor, event, now in
            guard case .startRequested(var specification) = event else { return supervisor.handle(event, now: now) }
            change(&specification)
            return supervisor.handle(.startRequested(specification), now: now)
        }
    }

    private func end(_ change: @escaping (ExitReason) -> ExitReason) -> Machine.Mutation {
        { supervisor, event, now in
            guard case .exited(let id, let life, let reason) = event else { return supervisor.handle(event, now: now) }
            return supervisor.handle(.exited(id, life, change(reason)), now: now)
        }
    }
}
