import Supervision

/// A mistake that a supervisor could make; it stands between a supervisor that makes none and the world.
package enum SupervisionFault: String, Sendable, CaseIterable {
    // Mistakes that make our supervisor differ from OTP's.
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

    // Mistakes that OTP's supervisor has no counterpart for, or that no comparison of courses shows.
    /// One of the siblings that are to be stopped isn't.
    case forgetsASibling
    /// A child that was stopped by request is started again.
    case startsAStoppedChild
    /// At the end the chain is stopped together with what is outside of it.
    case knowsNoChain
    /// At the end a child that doesn't live separates those between which it stands.
    case losesTheOrderAtADeadChild
    /// A start has the number of an earlier life.
    case repeatsAnIncarnation
    /// It gives up and tells nobody.
    case neverEscalates
    /// It tells twice that it has given up.
    case escalatesTwice
    /// Nobody is asked to wake it.
    case losesAWake
    /// It does nothing when its time has come.
    case ignoresAWake
    /// A crash isn't reported.
    case hidesACrash
    /// A child is forgotten and lives on.
    case removesWithoutStopping
    /// A child that waits for its restart can't be stopped.
    case ignoresAStopDuringBackoff
    /// A significant child's end doesn't matter.
    case neverShutsDownByItself
    /// A restart does not wait for its time.
    case restartsTooEarly
    /// Each restart is the first of a row.
    case forgetsAttempts
    /// Where children are counted by themselves, those of all are counted together all the same.
    case takesARestartFromASibling
    /// At the end a child that is only starting is stopped in its turn, and may be ready before.
    case letsStartsGoOnAtTheEnd

    /// A normal end of a child that counts its failures counts.
    case countsNormalEnds
    /// A later failure of a child that counts its failed starts counts.
    case countsLaterFailures
    /// An end soon after the start is a failed start of no child.
    case ignoresTheShortestLife
    /// The exit codes that are final are the same for all children.
    case ignoresFinalExitCodes
    /// The delays that a child has for itself don't matter.
    case ignoresFixedDelays
    /// Children that count their failures are given up although the policy has no limit for them.
    case limitsFailuresAlways

    /// The mistakes that a comparison with OTP's supervisor shows.
    package static let differencesFromOTP = allCases.prefix { $0 != .forgetsASibling }

    /// A supervisor's companion for all its life, with a memory of its own.
    package func mutation() -> Watched.Mutation {
        switch self {
        case .allowsARestartTooMany: return policy { $0.intensity += 1 }
        case .allowsARestartTooFew: return policy { $0.intensity = max(0, $0.intensity - 1) }
        case .restartsAllForTheRest: return policy { if $0.strategy == .restForOne { $0.strategy = .oneForAll } }
        case .restartsTheRestForAll: return policy { if $0.strategy == .oneForAll { $0.strategy = .restForOne } }
        case .restartsOneForTheRest: return policy { if $0.strategy == .restForOne { $0.strategy = .oneForOne } }
        case .endsAfterAnySignificantChild: return policy { if $0.autoShutdown == .allSignificant { $0.autoShutdown = .anySignificant } }
        case .ignoresSignificance: return specification { $0.isSignificant = false }
        case .keepsTemporaryChildren: return specification { if $0.restart == .temporary { $0.restart = .transient } }
        case .endsTheChainFirst: return specification { $0.stopPlace = $0.stopPlace == .chained ? .unordered : .chained }
        case .knowsNoChain: return specification { $0.stopPlace = .unordered }
        case .retriesFirstStarts: return specification { $0.isRetriedAtFirstStart = true }
        case .countsNormalEnds:
            return specification { if $0.restartLimits?.counts == .failures { $0.restartLimits?.counts = .everyRestart } }
        case .countsLaterFailures:
            return specification { if $0.restartLimits?.counts == .failedStarts { $0.restartLimits?.counts = .failures } }
        case .ignoresTheShortestLife: return specification { $0.restartLimits?.shortestLife = nil }
        case .ignoresFinalExitCodes: return specification { $0.restartLimits?.finalExitCodes = nil }
        case .ignoresFixedDelays:
            return specification {
                $0.restartLimits?.firstDelay = nil
                $0.restartLimits?.delay = nil
            }
        case .limitsFailuresAlways: return policy { $0.limitsFailures = nil }
        case .restartsTransientChildrenAlways: return end { $0 == .normal ? .failed("x") : $0 }
        case .leavesTransientChildrenAlways: return end { $0 == .failed("x") ? .normal : $0 }
        case .neverEscalates: return answer { if case .escalate = $0 { [] } else { [$0] } }
        case .escalatesTwice: return answer { if case .escalate = $0 { [$0, $0] } else { [$0] } }
        case .losesAWake: return answer { if case .wake = $0 { [] } else { [$0] } }
        case .hidesACrash: return answer { if case .report(_, _, .crashed) = $0 { [] } else { [$0] } }
        case .neverShutsDownByItself: return answer { if case .autoShutdown = $0 { [] } else { [$0] } }
        case .countsItsEndAsAFailure: return answer { if case .autoShutdown = $0 { [.escalate(.escalated("x"))] } else { [$0] } }
        case .neverGivesUp:
            return answer {
                switch $0 {
                case .escalate: [.terminated(.shutdown)]
                case .report(_, _, .gaveUp): []
                default: [$0]
                }
            }
        case .repeatsAnIncarnation:
            return answer {
                guard case .start(let id, let incarnation, let attempt) = $0, incarnation > 1 else { return [$0] }
                return [.start(id, incarnation - 1, attempt: attempt)]
            }
        case .forgetsAttempts:
            return answer {
                guard case .report(let id, let incarnation, .restarting(_, let time)) = $0 else { return [$0] }
                return [.report(id, incarnation, .restarting(attempt: 1, at: time))]
            }
        case .ignoresAWake:
            return { supervisor, event, now in event == .timePassed ? [] : supervisor.handle(event, now: now) }
        case .forgetsStoppedChildren:
            return { supervisor, event, now in
                if case .stopRequested(let id) = event { return supervisor.handle(.removeRequested(id), now: now) }
                return supervisor.handle(event, now: now)
            }
        case .stopsInStartOrder:
            return { supervisor, event, now in
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
                var answer: [Supervisor.Directive] = []
                let isTooMany = restarts.count >= policy.intensity
                if isTooMany { answer += supervisor.handle(.policyChanged(strict), now: now) }
                answer += supervisor.handle(event, now: now)
                if isTooMany, supervisor.policy == strict { answer += supervisor.handle(.policyChanged(policy), now: now) }
                for case .report(_, _, .restarting) in answer { restarts.append(now) }
                return answer
            }
        case .losesTheOrderAtADeadChild:
            return { supervisor, event, now in
                guard case .shutdownRequested = event, !supervisor.isEnding else { return supervisor.handle(event, now: now) }
                for (specification, state) in supervisor.children where state == .stopped {
                    var specification = specification
                    specification.stopPlace = .unordered
                    _ = supervisor.handle(.specificationChanged(specification), now: now)
                }
                return supervisor.handle(event, now: now)
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

    private func answer(_ change: @escaping (Supervisor.Directive) -> [Supervisor.Directive]) -> Watched.Mutation {
        { supervisor, event, now in supervisor.handle(event, now: now).flatMap(change) }
    }

    private func policy(_ change: @escaping (inout SupervisionPolicy) -> Void) -> Watched.Mutation {
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

    private func specification(_ change: @escaping (inout ChildSpecification) -> Void) -> Watched.Mutation {
        { supervisor, event, now in
            guard case .startRequested(var specification) = event else { return supervisor.handle(event, now: now) }
            change(&specification)
            return supervisor.handle(.startRequested(specification), now: now)
        }
    }

    private func end(_ change: @escaping (ExitReason) -> ExitReason) -> Watched.Mutation {
        { supervisor, event, now in
            guard case .exited(let id, let life, let reason) = event else { return supervisor.handle(event, now: now) }
            return supervisor.handle(.exited(id, life, change(reason)), now: now)
        }
    }
}
