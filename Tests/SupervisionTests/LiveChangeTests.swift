import Supervision
import Testing

/// OTP's significant_upgrade and code_change cases: what is changed while children live.
@Suite struct LiveChangeTests {
    private static let changes = AutoShutdown.allCases.flatMap { old in
        AutoShutdown.allCases.filter { $0 != old }.map { (old, $0) }
    }

    @Test(arguments: changes) func anotherAutoShutdownDecidesAboutTheNextEnd(old: AutoShutdown, new: AutoShutdown) {
        var stage = Stage(autoShutdown: old)
        for id in ["a", "b"] {
            stage.run(Child(id: id, restart: .transient, isSignificant: old != .never))
        }
        #expect(stage.send(.policyChanged(SupervisionPolicy(backoff: .none, autoShutdown: new))) == [])
        if old == .never {
            for id in ["a", "b"] {
                #expect(stage.send(.specificationChanged(Child(id: id, restart: .transient, isSignificant: true))) == [])
            }
        }
        #expect(stage.supervisor.children.map(\.state.incarnation) == [1, 1], "lives go on")
        _ = stage.exit("a", .normal)
        #expect(stage.supervisor.isEnding == (new == .anySignificant))
        _ = stage.exit("b", .normal)
        #expect(stage.supervisor.isEnding == (new != .never))
    }

    /// OTP asks when a significant child ends, and not when the policy comes.
    @Test func endsBeforeTheChangeAreThePast() {
        var stage = Stage(autoShutdown: .allSignificant)
        stage.run(Child(id: "a", restart: .transient, isSignificant: true), Child(id: "b", restart: .transient, isSignificant: true))
        _ = stage.exit("a", .normal)
        _ = stage.send(.policyChanged(SupervisionPolicy(autoShutdown: .anySignificant)))
        #expect(!stage.supervisor.isEnding)
    }

    @Test func aChildBecomesSignificantAndIsNoMore() {
        for isSignificant in [true, false] {
            var stage = Stage(autoShutdown: .anySignificant, running: Child(id: "a", restart: .transient, isSignificant: !isSignificant))
            let new = Child(id: "a", restart: .transient, shutdown: .brutalKill, isSignificant: isSignificant)
            #expect(stage.send(.specificationChanged(new)) == [])
            #expect(stage.supervisor.specification(of: "a") == new)
            #expect(stage.state("a") == .running(1, since: stage.now))
            _ = stage.exit("a", .normal)
            #expect(stage.supervisor.isEnding == isSignificant)
        }
    }

    @Test func allIsCountedAnewWhenAChildChanges() {
        var stage = Stage(autoShutdown: .allSignificant)
        stage.run(Child(id: "a", restart: .transient, isSignificant: true), Child(id: "b", restart: .transient, isSignificant: true))
        _ = stage.send(.specificationChanged(Child(id: "b", restart: .transient)))
        _ = stage.exit("a", .normal)
        #expect(stage.supervisor.isEnding)
    }

    @Test func whatIsRefusedChangesNothing() {
        var stage = Stage(intensity: 3, running: Child(id: "a", restart: .transient))
        for wrong in [
            Child(id: "a", restart: .transient, isSignificant: true), Child(id: "a", restart: .permanent, isSignificant: true),
            Child(id: "a", shutdown: .timeout(.seconds(-1))),
        ] {
            guard case .refused("a", _)? = stage.send(.specificationChanged(wrong)).first else {
                Issue.record("not refused")
                continue
            }
            #expect(stage.supervisor.specification(of: "a") == Child(id: "a", restart: .transient))
        }
        let policy = stage.supervisor.policy
        guard
            case .refused(nil, let error)? = stage.send(.policyChanged(SupervisionPolicy(intensity: -1, autoShutdown: .anySignificant)))
                .first
        else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .invalidIntensity)
        #expect(stage.supervisor.policy == policy)
    }

    @Test func aNewRestartTypeDecidesAboutTheNextEnd() {
        var stage = Stage(running: Child(id: "a"), Child(id: "b", restart: .temporary))
        _ = stage.send(.specificationChanged(Child(id: "a", restart: .temporary)))
        _ = stage.send(.specificationChanged(Child(id: "b", restart: .permanent)))
        #expect(stage.exit("a").last == .removed("a"))
        #expect(stage.exit("b").last == .start("b", 2, attempt: 1))
    }

    @Test func aNewTimeToStopIsUsedByTheNextStop() {
        var stage = Stage(running: Child(id: "a"))
        _ = stage.send(.specificationChanged(Child(id: "a", shutdown: .infinity)))
        #expect(stage.send(.stopRequested("a")) == [.stop("a", 1, .infinity)])
    }

    @Test func whatWasDecidedStaysDecided() {
        var stage = Stage(backoff: Backoff(jitter: 0), running: Child(id: "a"))
        _ = stage.exit("a")
        _ = stage.fail("a")
        let waiting = stage.state("a")
        #expect(stage.send(.specificationChanged(Child(id: "a", restart: .temporary))) == [])
        #expect(stage.state("a") == waiting)
        #expect(stage.pass(.milliseconds(100)) == [.start("a", 3, attempt: 2)])
    }

    /// As one that was temporary when it was stopped; it has no place to keep among its siblings.
    @Test func aStoppedChildThatBecomesTemporaryIsForgotten() {
        for restart in [RestartType.permanent, .transient] {
            var stage = Stage(.oneForAll, running: Child(id: "a", restart: restart), Child(id: "b"))
            stage.stop("a")
            #expect(stage.send(.specificationChanged(Child(id: "a", restart: .transient))) == [])
            #expect(stage.send(.specificationChanged(Child(id: "a", restart: .temporary))) == [.removed("a")])
            #expect(stage.supervisor.ids == ["b"])
            _ = stage.exit("b")
            #expect(stage.supervisor.ids == ["b"])
        }
    }

    @Test func nothingChangesForStrangersAndAtTheEnd() {
        var stage = Stage(running: Child(id: "a"))
        #expect(stage.send(.specificationChanged(Child(id: "b"))) == [])
        #expect(stage.supervisor.ids == ["a"])
        _ = stage.send(.shutdownRequested(.shutdown))
        #expect(stage.send(.specificationChanged(Child(id: "a", shutdown: .timeout(.seconds(-1))))) == [])
        #expect(stage.exit("a", .shutdown).last == .terminated(.shutdown))
    }
}
