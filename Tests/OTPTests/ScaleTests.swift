import Coordinators
import Fixtures
import Logging
import Supervision
import TestSupport
import Testing

/// The two cases about very many children.
///
/// What is asserted are counts; the ratio of the times is printed.
@Suite("OTP scale", .timeLimit(minutes: 10))
struct ScaleTests {
    @Test(
        "OTP 77 simple_one_for_one_scale_many_temporary_children",
        .skips(.worker, because: "a process for each of ten thousand children measures the kernel"),
        arguments: Backend.allCases
    )
    func otp77_scaleManyTemporaryChildren(_ backend: Backend) async throws {
        try await compare("OTP 77", backend, .temporary, 1_000, rounds(short: 3_000, all: 10_000, long: 10_000))
    }

    @Test(
        "OTP 88 scale_start_stop_many_children",
        .skips(.worker, because: "a process for each of a hundred thousand children measures the kernel"),
        arguments: Backend.allCases
    )
    func otp88_scaleStartStopManyChildren(_ backend: Backend) async throws {
        // Fewer in process: without optimisation a hundred thousand coordinators keep a busy machine for minutes.
        try await compare(
            "OTP 88",
            backend,
            .permanent,
            1_000,
            rounds(short: 3_000, all: backend == .machine ? 100_000 : 20_000, long: 100_000)
        )
    }

    private func compare(_ name: String, _ backend: Backend, _ type: RestartType, _ few: Int, _ many: Int) async throws {
        guard try Skips.fits(backend) else { return }
        let short = try await backend == .machine ? machine(few, type) : inProcess(few, type)
        let long = try await backend == .machine ? machine(many, type) : inProcess(many, type)
        let ratio = long / short
        let text = "\(ratio)".prefix(5)
        print("\(name) (\(backend.rawValue)): \(many) children take \(text) times as long as \(few) to start and stop")
    }

    /// An event for each step of a child, and a directive for each of these: not one more, however many children there are.
    private func machine(_ count: Int, _ type: RestartType) -> Duration {
        var supervisor = Supervisor(policy: SupervisionPolicy(backoff: .none))
        var directives = 0
        let time = ContinuousClock().measure {
            for id in (0..<count).map(String.init) {
                directives += supervisor.handle(.startRequested(ChildSpecification(id: id, restart: type)), now: .zero).count
                directives += supervisor.handle(.started(id, 1), now: .zero).count
            }
            var pending = supervisor.handle(.shutdownRequested(.shutdown), now: .zero)
            directives += pending.count
            while case .stop(let id, let incarnation, _) = pending.last {
                pending = supervisor.handle(.exited(id, incarnation, .shutdown), now: .zero)
                directives += pending.count
            }
            #expect(pending.last == .terminated(.shutdown))
        }
        // Start, its report, stop, its report; the removal of a temporary one; and the end.
        #expect(directives == count * (type == .temporary ? 5 : 4) + 1)
        return time
    }

    private func inProcess(_ count: Int, _ type: RestartType) async throws -> Duration {
        var options = CoordinatorRuntime.Options()
        options.logger.logLevel = .critical
        let runtime = CoordinatorRuntime(Supervising<OneForOne>.self, options: options)
        try await runtime.start()
        let before = runtime.counters.coordinators
        do {
            let start = ContinuousClock.now
            try await runtime.ask(OTP.Start(.supervisor("top", .oneForOne)), timeout: .seconds(30))
            try await runtime.ask(OTP.StartMany(count, type), at: "/top", timeout: .seconds(300))
            #expect(runtime.counters.coordinators == before + 1 + count)
            try await runtime.ask(OTP.Remove("top"), timeout: .seconds(300))
            let time = ContinuousClock.now - start
            // The last of them may be let go a moment later.
            #expect(await eventually { runtime.counters.coordinators == before })
            await runtime.stop()
            return time
        } catch {
            await runtime.stop()
            throw error
        }
    }
}
