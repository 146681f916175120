import Supervision
import Testing

@Suite struct PolicyTests {
    @Test func theDefaultsAreTheDocumentedOnes() throws {
        let policy = SupervisionPolicy()
        #expect(policy == SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60), backoff: Backoff()))
        #expect(
            policy.backoff
                == Backoff(minimum: .milliseconds(100), maximum: .seconds(30), factor: 2, jitter: 0.5, resetAfter: .seconds(30))
        )
        #expect(policy.autoShutdown == .never)
        try policy.validate()
        try SupervisionPolicy(intensity: 0, backoff: .none).validate()
        #expect(Child(id: "a") == Child(id: "a", restart: .permanent, shutdown: .timeout(.seconds(5)), isSignificant: false))
    }

    @Test(arguments: [
        (SupervisionPolicy(intensity: -1), SupervisionError.Code.invalidIntensity),
        (SupervisionPolicy(period: .zero), .invalidPeriod),
        (SupervisionPolicy(backoff: Backoff(minimum: .seconds(-1))), .invalidBackoff),
        (SupervisionPolicy(backoff: Backoff(minimum: .seconds(2), maximum: .seconds(1))), .invalidBackoff),
        (SupervisionPolicy(backoff: Backoff(factor: 0.5)), .invalidBackoff),
        (SupervisionPolicy(backoff: Backoff(factor: .nan)), .invalidBackoff),
        (SupervisionPolicy(backoff: Backoff(jitter: 1.1)), .invalidBackoff),
        (SupervisionPolicy(backoff: Backoff(resetAfter: .seconds(-1))), .invalidBackoff),
    ])
    func nonsenseIsNamed(policy: SupervisionPolicy, code: SupervisionError.Code) {
        let error = #expect(throws: SupervisionError.self) { try policy.validate() }
        #expect(error?.code == code)
        #expect(error?.message.contains("give") == true)
    }

    @Test(arguments: RestartType.allCases, AutoShutdown.allCases) func aPermanentChildIsNeverSignificant(
        type: RestartType,
        autoShutdown: AutoShutdown
    ) throws {
        try Child(id: "a", restart: type).validate(under: autoShutdown)
        let significant = Child(id: "the-id", restart: type, isSignificant: true)
        if type != .permanent, autoShutdown != .never {
            try significant.validate(under: autoShutdown)
            return
        }
        let error = #expect(throws: SupervisionError.self) { try significant.validate(under: autoShutdown) }
        #expect(error?.code == .invalidSignificance)
        #expect(error?.message.contains("child the-id") == true)
        #expect(error?.message.contains("give") == true)
    }

    @Test func aTimeToStopIsNotNegative() throws {
        try Child(id: "a", shutdown: .timeout(.zero)).validate(under: .never)
        let error = #expect(throws: SupervisionError.self) { try Child(id: "a", shutdown: .timeout(.seconds(-1))).validate(under: .never) }
        #expect(error?.description == "invalidShutdown: child a: its time to stop is -1.0 seconds; give 0 s or more")
    }

    @Test func exitReasonsAreSorted() {
        for reason in RestartTests.normal { #expect(reason.isNormal && !reason.isPermanentFailure) }
        for reason in RestartTests.abnormal { #expect(!reason.isNormal && !reason.isPermanentFailure) }
        for reason in RestartTests.permanentFailures { #expect(!reason.isNormal && reason.isPermanentFailure) }
        let all = RestartTests.normal + RestartTests.abnormal + RestartTests.permanentFailures
        #expect(Set(all.map(\.description)).count == all.count)
        #expect(ExitReason.signaled(15).description == "ended by signal 15")
        #expect(ExitReason.signaled(9).description == "killed by signal 9 from outside")
        #expect(ExitReason.killed(after: .seconds(10)).description == "not stopped within 10s, killed")
        #expect(ExitReason.killed(after: .milliseconds(1_500)).description == "not stopped within 1500ms, killed")
    }
}
