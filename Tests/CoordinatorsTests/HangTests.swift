import CoordinatorsTesting
import Fixtures
import Glibc
import Logging
import Processes
import TestSupport
import Testing

@testable import Coordinators

/// Real workers that hang, each in its own way.
@Suite(
    "Hangs",
    .timeLimit(minutes: 5),
    .disabled(if: Sanitizer.isOn, "it measures times, of which a sanitizer takes ten times as much")
)
struct HangTests {
    /// The time after which a process counts as hung; the tests' own is shorter than the default, so that they don't take long.
    private static let limit = Duration.seconds(4)

    private static let options = Support.options.with { $0.heartbeatTimeout = limit }

    /// The ways in which a process hangs so that its parent restarts it.
    enum Way: String, CaseIterable, Sendable {
        /// The process is stopped.
        case stopped
        /// Every thread of the executor computes.
        case computing
        /// Every thread of the executor is blocked.
        case blocked
        /// One thread is blocked, by the coordinator.
        case blockedAlone
    }

    @Test("A hung worker is restarted after its time, for the right reason, and its siblings go on", arguments: Way.allCases)
    func restarted(_ way: Way) async throws {
        try await withRoot(options: Self.options) { runtime in
            try await runtime.startChild("sibling", .worker)
            try await runtime.startHanging("hung")
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/hung")
            let process = try #require(ProcessIdentity(processID: before.pid))
            let sibling = try await runtime.ask(Fixture.WhereAmI(), at: "/sibling")
            let latencies = Task { try await Self.slowestEcho(of: runtime, at: "/sibling", while: process) }
            let start = ContinuousClock.now
            switch way {
            case .stopped: try await stopProcess(process)
            case .computing, .blocked:
                let action = Fixture.Action.occupyExecutor(milliseconds: 60_000, blocks: way == .blocked)
                // The answer may not get through any more.
                _ = Task { _ = try? await runtime.perform(action, at: "/hung") }
            case .blockedAlone:
                _ = Task { _ = try? await runtime.perform(.block(milliseconds: 60_000), at: "/hung", timeout: .seconds(60)) }
            }
            await process.waitUntilGone()
            let time = ContinuousClock.now - start
            let slowest = try await latencies.value
            print("a worker that is \(way.rawValue) was killed after \(time) of \(Self.limit); slowest echo of its sibling \(slowest)")
            #expect(time >= Self.limit * 0.8)
            // How exactly is printed: others use the processors too.
            #expect(time <= Self.limit * 3)
            #expect(try await runtime.whereIsIt("/hung", after: before).incarnation == 2)
            #expect(try await runtime.snapshot(of: "/hung").lastExit == .hung)
            // One that waited for the end of the hung one would have waited for as long as that lives.
            #expect(slowest < Self.limit)
            #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/sibling") == sibling)
        }
    }

    @Test("A silent executor is shown with its age and logged, and the worker lives on", arguments: [false, true])
    func reported(blocks: Bool) async throws {
        let log = RecordedLog(.notice)
        let options = Support.options.with { ($0.heartbeatTimeout, $0.logger) = (.seconds(2), log.logger) }
        try await withRoot("busy", "sibling", in: .worker, options: options) { runtime in
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/busy")
            #expect(try await runtime.snapshot(of: "/busy").executorSilence == nil)
            let work = Task { _ = try? await runtime.perform(.occupyExecutor(milliseconds: 8_000, blocks: blocks), at: "/busy") }
            try await eventually("the silence is seen") {
                let silence = try await runtime.snapshot().children.first { $0.path == "/busy" }?.executorSilence
                return silence.map { $0 >= .seconds(2) }
            }
            let health = await runtime.health()
            #expect(health.isLive)
            #expect(health.suspicions.map(\.path) == ["/busy"])
            #expect(health.suspicions.first?.executorSilence.map { $0 >= .seconds(2) } == true)
            try await eventually("it answers again") { try await runtime.snapshot(of: "/busy").executorSilence == nil }
            await work.value
            #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/busy") == before)
            // A process that has no processor for two seconds is suspected once more.
            try await eventually("it's healthy") { await runtime.health() == CoordinatorHealth(isLive: true, isReady: true) }
            try await eventually("the log has both") { log.lines.contains { $0.contains("answers again") } }
            #expect(log.lines.count { $0.contains("executor runs nothing") } == 1)
        }
    }

    @Test("One coordinator that is blocked is told by its executor and its mailbox; the others in its process and its siblings go on")
    func deadlocked() async throws {
        try await withRoot(options: Support.options.with { $0.heartbeatTimeout = .seconds(2) }) { runtime in
            try await runtime.startChild("stuck", .worker)
            try await runtime.startChild("sibling", .inProcess)
            _ = try await runtime.perform(.startGrandchild("below", inWorker: false), at: "/stuck")
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/stuck")
            let blocking = Task { try? await runtime.perform(.block(milliseconds: 8_000), at: "/stuck", timeout: .seconds(60)) }
            try await eventually("it's blocked") { try await runtime.snapshot(of: "/stuck").mailbox?.running == 1 }
            let waiting = Task { try? await runtime.perform(.configuration, at: "/stuck", timeout: .seconds(60)) }
            var isSilent = false
            try await eventually("the suspicion") {
                let suspicions = await runtime.health().suspicions
                guard let suspicion = suspicions.first else { return nil }
                #expect(suspicions.count == 1 && suspicion.path == "/stuck")
                isSilent = isSilent || suspicion.executorSilence != nil
                return suspicion.oldestWaiting.map { $0 >= .seconds(2) && $0 < .seconds(8) }
            }
            #expect(isSilent)
            // A queue may be long for other reasons: it's no reason to send the traffic elsewhere.
            #expect(await runtime.health().isReady)
            #expect(try await runtime.perform(.configuration, at: "/sibling") == "hello")
            #expect(try await runtime.perform(.configuration, at: "/stuck/below") == "below")
            _ = await blocking.value
            #expect(await waiting.value == "hello")
            try await eventually("it's well again") { await runtime.health().suspicions.isEmpty }
            #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/stuck") == before)
        }
    }

    /// Runs a parent with two workers that may be silent for a second, in a process of its own.
    private static func withParent(
        _ environment: [String: String] = [:],
        _ body: (_ parent: ChildProcess, _ workers: Set<ProcessIdentity>) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        var specification = ProcessSpecification(executable: Support.worker.path, standardOutput: .null, standardError: .null)
        specification.environment = [
            Fixture.bootstrapVariable: directory.path, Fixture.heartbeatVariable: "1000", "PATH": "/usr/bin:/bin",
        ].merging(environment) { $1 }
        try await withChild(specification) { parent in
            var workers: Set<ProcessIdentity> = []
            try await eventually("both workers are up") {
                // Each process notes its bootstrap, and its number.
                let lines = (Files.text(of: directory.file("events")) ?? "").split(separator: "\n").filter {
                    $0.hasPrefix("bootstrapped:/")
                }
                workers = Set(lines.compactMap { Int32($0.split(separator: " ").last ?? "") }.compactMap { ProcessIdentity(processID: $0) })
                workers.remove(parent.identity)
                return workers.count == 2
            }
            try await realTime(.seconds(1), because: "the first pings come when the coordinators of other processes are ready")
            try await body(parent, workers)
            #expect(workers.filter { !$0.isAlive }.isEmpty)
            #expect(parent.exitStatus == nil)
            _ = await parent.terminate(grace: .patient(.seconds(10)))
            try await eventually("the workers end with it") { workers.allSatisfy { !$0.isAlive } }
        }
    }

    @Test("A parent that was stopped for much longer than its workers may be silent kills none of them")
    func stoppedParent() async throws {
        try await Self.withParent { parent, _ in
            for _ in 0..<3 {
                try await stopProcess(parent)
                try await realTime(.seconds(2), because: "the parent is stopped for longer than its workers may be silent")
                try parent.send(.continue)
                try await realTime(.milliseconds(500), because: "the parent judges its workers when it goes on")
            }
            try await realTime(.seconds(2), because: "the parent judges its workers for longer than they may be silent")
        }
    }

    @Test("A parent whose own executor runs nothing pings its workers all the same, and kills none of them")
    func busyParent() async throws {
        try await Self.withParent([Fixture.occupationVariable: "5000"]) { _, _ in
            try await realTime(.seconds(6), because: "the parent's executor is occupied for five of them")
        }
    }

    /// Returns the time of the slowest of the asks that a coordinator answers as long as a process lives.
    private static func slowestEcho(
        of runtime: CoordinatorRuntime,
        at path: CoordinatorPath,
        while process: ProcessIdentity
    ) async throws -> Duration {
        var slowest = Duration.zero
        while process.isAlive {
            let start = ContinuousClock.now
            _ = try await runtime.perform(.configuration, at: path)
            slowest = max(slowest, ContinuousClock.now - start)
            try await realTime(.milliseconds(20), because: "asks without a pause would take the processors from what they measure")
        }
        return slowest
    }
}

extension CoordinatorRuntime {
    /// Starts a worker that is restarted when its executor is silent.
    fileprivate func startHanging(_ key: String) async throws {
        _ = try await ask(Fixture.StartChild(key, inWorker: true, hang: .restart), timeout: .patient(.seconds(30)))
    }
}
