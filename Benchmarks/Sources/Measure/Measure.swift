import Coordinators
import Glibc

/// Measures what `Benchmarks/run` prints.
///
/// The baseline's p50 in nanoseconds is the first argument; with `kills` as the second, only what follows a `kill -9` is measured.
@main
struct Measure {
    static func main() async throws {
        await CoordinatorRuntime.runWorkerIfRequested([RootCoordinator.self, ChildCoordinator.self])
        try await measure()
    }

    @concurrent
    private static func measure() async throws {
        let baseline = CommandLine.arguments.dropFirst().first.flatMap { Int64($0) }
        let runtime = CoordinatorRuntime(RootCoordinator.self)
        try await runtime.start()
        if !CommandLine.arguments.contains("kills") {
            try await asks(runtime, baseline)
            try await starts(runtime)
        }
        for (key, spares) in [("cold", 0), ("spared", 2)] {
            _ = try await runtime.ask(StartChild(key: key, inWorker: true, spares: spares), timeout: .seconds(30))
            try await kills(runtime, at: CoordinatorPath("/\(key)") ?? .root, spares == 0 ? "cold" : "with \(spares) warm spares")
        }
        await runtime.stop()
    }

    private static func asks(_ runtime: CoordinatorRuntime, _ baseline: Int64?) async throws {
        for (place, inWorker) in [("in one process", false), ("across processes", true)] {
            let key = inWorker ? "worker" : "local"
            let path = CoordinatorPath("/\(key)") ?? .root
            _ = try await runtime.ask(StartChild(key: key, inWorker: inWorker), timeout: .seconds(30))
            _ = try await runtime.ask(AskTheRoot(count: 2_000), at: path, timeout: .seconds(60))
            let durations = try await runtime.ask(AskTheRoot(count: 20_000), at: path, timeout: .seconds(60))
            report("ask \(place), 64 B", durations, baseline: inWorker ? baseline : nil)
            let unhandled = try await runtime.ask(AskNobody(count: 2_000), at: path, timeout: .seconds(60))
            report("ask that nobody responds to, \(place)", unhandled)
            let count = try await runtime.ask(AskConcurrently(askers: 256, milliseconds: 3_000), at: path, timeout: .seconds(60))
            Self.print("asks \(place), 256 concurrent: \(count / 3) /s")
        }
    }

    private static func starts(_ runtime: CoordinatorRuntime) async throws {
        for (place, inWorker, rounds) in [("coordinator in process", false, 1_000), ("worker", true, 50)] {
            var durations: [Int64] = []
            for _ in 0..<rounds {
                durations.append(try await runtime.ask(StartChild(key: "started", inWorker: inWorker), timeout: .seconds(30)))
                try await runtime.ask(StopChild(key: "started"), timeout: .seconds(30))
            }
            report("start to ready of a \(place)", durations)
        }
    }

    /// From `kill -9` to the answer of the next life.
    private static func kills(_ runtime: CoordinatorRuntime, at path: CoordinatorPath, _ what: String) async throws {
        var durations: [Int64] = []
        var pid = try await runtime.ask(WhoAreYou(), at: path)
        for _ in 0..<50 {
            // Time for a spare to come up, for a fair comparison in both cases.
            try await Task.sleep(for: .milliseconds(50))
            let begin = ContinuousClock.now
            kill(pid, SIGKILL)
            var answer = pid
            while answer == pid {
                do {
                    answer = try await runtime.ask(WhoAreYou(), at: path)
                } catch let error as CoordinatorError where error.code == .peerLost {
                }
            }
            durations.append((ContinuousClock.now - begin).nanoseconds)
            pid = answer
        }
        report("kill -9 to answer, 50 kills, \(what)", durations)
    }

    private static func report(_ what: String, _ durations: [Int64], baseline: Int64? = nil) {
        let sorted = durations.sorted()
        let median = sorted[sorted.count / 2]
        let ratio = baseline.map { ", p50 \(Double(median * 100 / $0) / 100) × C on nng streams" } ?? ""
        Self.print("\(what): p50 \(text(median)), p99 \(text(sorted[sorted.count * 99 / 100]))\(ratio)")
    }

    /// At once, whatever standard output is.
    private static func print(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    private static func text(_ nanoseconds: Int64) -> String {
        nanoseconds < 1_000_000 ? "\(Double(nanoseconds / 10) / 100) µs" : "\(Double(nanoseconds / 10_000) / 100) ms"
    }
}
