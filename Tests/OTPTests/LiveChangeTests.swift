import Coordinators
import Fixtures
import Supervision
import Testing

/// `significant_upgrade` and `code_change`: what is changed while children live.
@Suite("OTP live changes")
struct LiveChangeTests {
    private typealias Machine = Supervisor
    private typealias Child = ChildSpecification

    private static let isStatic = "a type's policy is static"

    @Test("OTP 64 significant_upgrade_never_any", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp64_neverAny(_ backend: Backend) throws { try upgrade(backend, .never, .anySignificant) }

    @Test("OTP 65 significant_upgrade_any_never", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp65_anyNever(_ backend: Backend) throws { try upgrade(backend, .anySignificant, .never) }

    @Test("OTP 66 significant_upgrade_never_all", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp66_neverAll(_ backend: Backend) throws { try upgrade(backend, .never, .allSignificant) }

    @Test("OTP 67 significant_upgrade_all_never", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp67_allNever(_ backend: Backend) throws { try upgrade(backend, .allSignificant, .never) }

    @Test("OTP 68 significant_upgrade_any_all", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp68_anyAll(_ backend: Backend) throws { try upgrade(backend, .anySignificant, .allSignificant) }

    @Test("OTP 69 significant_upgrade_all_any", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp69_allAny(_ backend: Backend) throws { try upgrade(backend, .allSignificant, .anySignificant) }

    /// Two children live; after the change the first end, and then the second, are judged by the new policy.
    private func upgrade(_ backend: Backend, _ old: SupervisionPolicy.AutoShutdown, _ new: SupervisionPolicy.AutoShutdown) throws {
        guard try Skips.fits(backend) else { return }
        var machine = makeMachine(autoShutdown: old, Child(id: "a", restart: .transient), Child(id: "b", restart: .transient))
        makeSignificant(&machine)
        #expect(machine.handle(.policyChanged(SupervisionPolicy(backoff: .none, autoShutdown: new)), now: .zero) == [])
        if old == .never { makeSignificant(&machine) }
        #expect(machine.count(in: .running) == 2)
        _ = machine.handle(.exited("a", 1, .normal), now: .zero)
        #expect(machine.isEnding == (new == .anySignificant))
        let last = machine.handle(.exited("b", 1, .normal), now: .zero).last
        #expect((last == .autoShutdown) == (new != .never))
    }

    private func makeSignificant(_ machine: inout Machine) {
        guard machine.policy.autoShutdown != .never else { return }
        for id in ["a", "b"] {
            let changed = Child(id: id, restart: .transient, isSignificant: true)
            #expect(machine.handle(.specificationChanged(changed), now: .zero) == [])
        }
    }

    @Test("OTP 70 significant_upgrade_child", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp70_child(_ backend: Backend) throws {
        guard try Skips.fits(backend) else { return }
        let significant = Child(id: "a", restart: .transient, isSignificant: true), other = Child(id: "a", restart: .transient)
        var rejecting = makeMachine(autoShutdown: .never, other)
        expectRefusal(rejecting.handle(.specificationChanged(significant), now: .zero), of: "a")
        #expect(rejecting.specification(of: "a") == other)
        for (old, new) in [(significant, other), (other, significant)] {
            var machine = makeMachine(autoShutdown: .anySignificant, old)
            #expect(machine.handle(.specificationChanged(new), now: .zero) == [])
            _ = machine.handle(.exited("a", 1, .normal), now: .zero)
            #expect(machine.isEnding == new.isSignificant)
        }
    }

    @Test("OTP 83 code_change", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp83_codeChange(_ backend: Backend) throws { try change(backend, ["a", "b"]) }

    @Test("OTP 84 code_change_map", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp84_codeChangeMap(_ backend: Backend) throws { try keepsOld(backend, ["a", "b"]) }

    @Test("OTP 85 code_change_simple", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp85_codeChangeSimple(_ backend: Backend) throws { try change(backend, (1...20).map { "dynamic-\($0)" }) }

    @Test("OTP 86 code_change_simple_map", .skips(.inProcess, .worker, because: isStatic), arguments: Backend.allCases)
    func otp86_codeChangeSimpleMap(_ backend: Backend) throws { try keepsOld(backend, (1...20).map { "dynamic-\($0)" }) }

    /// New flags and specifications hold from now on; lives go on.
    private func change(_ backend: Backend, _ ids: [String]) throws {
        guard try Skips.fits(backend) else { return }
        var machine = makeMachine(autoShutdown: .never, ids.map { Child(id: $0) })
        let policy = SupervisionPolicy(.oneForOne, intensity: 0, period: .seconds(3), backoff: .none)
        #expect(machine.handle(.policyChanged(policy), now: .zero) == [])
        #expect(machine.policy == policy)
        for id in ids {
            #expect(machine.handle(.specificationChanged(Child(id: id, restart: .temporary, shutdown: .brutalKill)), now: .zero) == [])
        }
        #expect(machine.children.map(\.state) == ids.map { _ in .running(1, since: .zero) })
        guard let first = ids.first, let last = ids.last else { return }
        // Temporary now.
        #expect(machine.handle(.exited(first, 1, .failed("x")), now: .zero).last == .removed(first))
        #expect(machine.handle(.stopRequested(last), now: .zero) == [.stop(last, 1, .brutalKill)])
        // Intensity 0 now.
        _ = machine.handle(.startRequested(Child(id: "new")), now: .zero)
        _ = machine.handle(.started("new", 1), now: .zero)
        _ = machine.handle(.exited("new", 1, .failed("x")), now: .zero)
        #expect(machine.isEnding)
    }

    /// An invalid change is refused, and the former values are kept.
    private func keepsOld(_ backend: Backend, _ ids: [String]) throws {
        guard try Skips.fits(backend) else { return }
        var machine = makeMachine(autoShutdown: .never, ids.map { Child(id: $0) })
        let policy = machine.policy
        for faulty in [SupervisionPolicy(intensity: -1), SupervisionPolicy(period: .zero)] {
            expectRefusal(machine.handle(.policyChanged(faulty), now: .zero), of: nil)
        }
        #expect(machine.policy == policy)
        for id in ids {
            for faulty in [Child(id: id, shutdown: .timeout(.seconds(-1))), Child(id: id, isSignificant: true)] {
                expectRefusal(machine.handle(.specificationChanged(faulty), now: .zero), of: id)
                #expect(machine.specification(of: id) == Child(id: id))
            }
        }
        #expect(machine.count(in: .running) == ids.count)
    }

    private func makeMachine(autoShutdown: SupervisionPolicy.AutoShutdown, _ children: Child...) -> Machine {
        makeMachine(autoShutdown: autoShutdown, children)
    }

    private func makeMachine(autoShutdown: SupervisionPolicy.AutoShutdown, _ children: [Child]) -> Machine {
        var machine = Machine(policy: SupervisionPolicy(intensity: 1_000, backoff: .none, autoShutdown: autoShutdown))
        for child in children {
            _ = machine.handle(.startRequested(child), now: .zero)
            _ = machine.handle(.started(child.id, 1), now: .zero)
        }
        return machine
    }

    private func expectRefusal(_ directives: [Machine.Directive], of id: String?, sourceLocation: SourceLocation = #_sourceLocation) {
        guard directives.count == 1, case .refused(id, _) = directives[0] else {
            Issue.record("not refused: \(directives)", sourceLocation: sourceLocation)
            return
        }
    }
}
