import Coordinators
import Glibc

/// What must stay flat while children are restarted by the thousand; `Benchmarks/soak` runs it.
///
/// The first argument says what: `in-process`, `worker`, `crash-loop` or `scale`; the second how often, or, for the crash loop, how many
/// starts a second the bucket allows.
@main
struct Soak {
    static func main() async throws {
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [Target.self, Crasher.self, Neighbour.self])
        try await run()
    }

    @concurrent
    private static func run() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        // Ends at once: what the kernel and the Swift runtime take to start and end this program.
        if arguments.first == "nothing" { return }
        defer { rmdir(Remains.directory) }
        let count = arguments.dropFirst().first.flatMap { Int($0) }
        switch arguments.first {
        case "in-process": try await inProcess(count ?? 1_000_000)
        case "worker": try await workers(count ?? 10_000)
        case "crash-loop": try await crashLoop(rate: count ?? 50)
        case "scale": try await scale(count ?? 100_000)
        default: print("usage: Soak in-process|worker|crash-loop|scale [count]")
        }
    }

    /// - Parameter restarts: how often workers may be restarted.
    private static func runtime(_ restarts: TokenBucket = TokenBucket(rate: 50, burst: 100)) async throws -> (
        CoordinatorRuntime, Root.Context
    ) {
        var options = CoordinatorRuntime.Options()
        options.logger.logLevel = .critical
        options.runtimeDirectory = Remains.directory
        options.workerRestarts = restarts
        let runtime = CoordinatorRuntime(Root.self, options: options)
        try await runtime.start()
        return (runtime, try await runtime.ask(Root.Handle()).context())
    }

    /// A child that fails as soon as it's ready, over and over.
    private static func inProcess(_ count: Int) async throws {
        let (runtime, root) = try await runtime()
        let tally = Tally.shared
        tally.limit = count
        let before = Remains.now()
        try await root.start(Failing.self, as: "failing")
        var step = 0
        let start = ContinuousClock.now
        while tally.count < count {
            try await Task.sleep(for: .milliseconds(50))
            guard tally.count >= (step + 1) * count / 10 else { continue }
            step += 1
            print("\(tally.count) restarts: \(Remains.now())")
        }
        let time = ContinuousClock.now - start
        try await root.remove("failing")
        print("before: \(before)\nafter:  \(Remains.now()), \(count) restarts in \(time), coordinators \(runtime.counters.coordinators)")
        await runtime.stop()
    }

    /// A thousand children started and stopped, and a hundred times as many.
    private static func scale(_ count: Int) async throws {
        let (runtime, root) = try await runtime()
        var times: [Duration] = []
        for number in [1_000, 1_000, count] {
            let start = ContinuousClock.now
            for child in 0..<number { try await root.start(Neighbour.self, as: "child\(child)") }
            let started = ContinuousClock.now
            for child in 0..<number { try await root.remove("child\(child)") }
            times.append(ContinuousClock.now - start)
            print("\(number) children: started in \(started - start), stopped in \(ContinuousClock.now - started); \(Remains.now())")
        }
        print("ratio for \(count / 1_000) times as many: \(Int(times[2] / times[1]))")
        await runtime.stop()
    }

    /// A worker that is killed with -9 a hundred times a second, or as fast as it comes back.
    private static func workers(_ count: Int) async throws {
        // The bucket would stand in the way.
        let (runtime, root) = try await runtime(TokenBucket(rate: 100_000, burst: 100_000))
        let child = try await root.start(Target.self, as: "target", in: .worker)
        var pid = try await child.ask(Target.Who())
        let before = Remains.now()
        let start = ContinuousClock.now
        for number in 1...count {
            kill(pid, SIGKILL)
            var next = pid
            while next == pid {
                do { next = try await child.ask(Target.Who()) } catch let error as CoordinatorError where error.code == .peerLost {}
            }
            pid = next
            try await Task.sleep(until: start + .milliseconds(10) * number, clock: .continuous)
            if number % max(count / 10, 1) == 0 { print("\(number) restarts: \(Remains.now())") }
        }
        let time = ContinuousClock.now - start
        print("before: \(before)\nafter:  \(Remains.now()), \(count) restarts in \(time)")
        await runtime.stop()
        print("stopped: \(Remains.now())")
    }

    /// Two hundred workers that exit as soon as they're ready, and a healthy neighbour.
    ///
    /// For comparison, the neighbour beside as many starts of this program that nobody supervises and that do nothing.
    private static func crashLoop(rate: Int) async throws {
        let (runtime, root) = try await runtime(TokenBucket(rate: rate, burst: rate))
        let neighbour = try await root.start(Neighbour.self, as: "neighbour", in: .worker)
        let alone = try await latencies(neighbour, for: .seconds(10))
        let plain = Task { try await startPlainly(perSecond: rate) }
        let beside = try await latencies(neighbour, for: .seconds(10))
        plain.cancel()
        _ = await plain.result
        for number in 0..<200 {
            // As a child of a configuration file: it may exit before it's ready, and is there to stay.
            Task { try? await root.start(worker: "Crasher", as: "crasher\(number)", executable: "/proc/self/exe", retriesFirstStart: true) }
        }
        try await Task.sleep(for: .seconds(5))
        let restarts = try await runtime.snapshot().children.reduce(0) { $0 + $1.restarts }
        let cpu = processorSeconds()
        let start = ContinuousClock.now
        let together = try await latencies(neighbour, for: .seconds(20))
        let time = (ContinuousClock.now - start) / .seconds(1)
        let after = try await runtime.snapshot().children.reduce(0) { $0 + $1.restarts }
        let states = Dictionary(grouping: try await runtime.snapshot().children.map { "\($0.state)" }) { $0 }.mapValues(\.count)
        print("children: \(states)")
        print("restarts per second: \(Int(Double(after - restarts) / time)), in \(Int(time)) s")
        print("this process: \(Int((processorSeconds() - cpu) / time * 100)) % of a core")
        print("neighbour alone: p50 \(alone.p50), p99 \(alone.p99)")
        for (what, latency) in [("\(rate) plain starts a second", beside), ("the crash loop", together)] {
            let ratio = Double(Int(latency.p99 / alone.p99 * 100)) / 100
            print("neighbour beside \(what): p50 \(latency.p50), p99 \(latency.p99), \(ratio) times that alone")
        }
        await runtime.stop()
        print("stopped: \(Remains.now())")
    }

    /// Starts this program so often, until the task is cancelled: it does nothing, and nobody supervises it.
    private static func startPlainly(perSecond rate: Int) async throws {
        while !Task.isCancelled {
            var pid = pid_t()
            let arguments = [strdup("Soak"), strdup("nothing"), nil]
            defer { arguments.forEach { free($0) } }
            guard posix_spawn(&pid, "/proc/self/exe", nil, nil, arguments, environ) == 0 else { return }
            try? await Task.sleep(for: .seconds(1) / rate)
            var status: Int32 = 0
            // It has ended by now, or does within milliseconds.
            waitpid(pid, &status, 0)
        }
    }

    private static func latencies(_ child: Child<Neighbour>, for time: Duration) async throws -> (p50: Duration, p99: Duration) {
        var all: [Duration] = []
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            let start = ContinuousClock.now
            _ = try await child.ask(Target.Who())
            all.append(ContinuousClock.now - start)
            try await Task.sleep(for: .milliseconds(1))
        }
        all.sort()
        return (all[all.count / 2], all[all.count * 99 / 100])
    }

    private static func processorSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }
}
