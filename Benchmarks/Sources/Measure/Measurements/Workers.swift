import Coordinators
import Glibc

/// Workers that are all started at once: the time until the last is ready, and what they and their parent use while they are idle.
struct Workers: Measurement {
    /// Makes the root start workers; answered when all are ready.
    struct StartAll: ResponderMessage {
        /// Nanoseconds.
        typealias Reply = Int64
        var count: Int
    }

    let count: Int
    let idleSeconds: Int

    init(_ arguments: inout Arguments) throws {
        count = try arguments.take("count", default: 10)
        idleSeconds = try arguments.take("idle-seconds", default: 0)
        try Self.checkRoom(for: count)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        let resident = ProcessUsage.residentBytes
        Figures.print("time", try await runtime.ask(StartAll(count: count), timeout: .seconds(180)))
        Figures.print("parent-bytes", (ProcessUsage.residentBytes - resident) / count)
        let processes = try await runtime.snapshot().children.compactMap(\.processID)
        let sample = Array(processes.prefix(50))
        Figures.print("bytes", sample.map { ProcessUsage.ownBytes(of: $0) }.reduce(0, +) / max(sample.count, 1))
        if idleSeconds > 0 { try await measureIdle(processes) }
    }

    private func measureIdle(_ processes: [Int32]) async throws {
        // What was begun by the start has ended then.
        try await Task.sleep(for: .seconds(1))
        let sample = processes.prefix(20)
        let start = (
            Clock.now, ProcessUsage.processorTime, Self.processorTime(of: processes), ProcessUsage.waits(of: getpid()),
            Self.waits(of: sample)
        )
        try await Task.sleep(for: .seconds(idleSeconds))
        let own = ProcessUsage.processorTime - start.1
        let others = Self.processorTime(of: processes) - start.2
        let nanoseconds = Double(Clock.now - start.0)
        Figures.print("idle-parent", Double(own) / nanoseconds * 100)
        Figures.print("idle-workers", Double(others) / nanoseconds * 100)
        Figures.print("wake-ups-parent", Double(ProcessUsage.waits(of: getpid()) - start.3) / nanoseconds * 1e9 / Double(count))
        Figures.print("wake-ups-worker", Double(Self.waits(of: sample) - start.4) / nanoseconds * 1e9 / Double(max(sample.count, 1)))
    }

    private static func processorTime(of processes: [Int32]) -> Int64 {
        processes.reduce(0) { $0 + ProcessUsage.processorTime(of: $1) }
    }

    private static func waits(of processes: ArraySlice<Int32>) -> Int { processes.reduce(0) { $0 + ProcessUsage.waits(of: $1) } }

    /// Throws where so many workers would take all process numbers of the machine: each has some twenty threads, which have one each.
    private static func checkRoom(for count: Int) throws {
        let limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"].compactMap { ProcessUsage.integer(in: $0) }
        guard let limit = limits.min(), limit < count * 25 + 1_000 else { return }
        throw UsageError("\(count) workers need \(count * 25) threads, and this machine allows \(limit): raise kernel.pid_max")
    }
}

extension Workers.StartAll {
    @concurrent
    func start(_ root: Root.Context) async throws -> Int64 {
        try await Clock.duration {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count { group.addTask { try await root.start(Idle.self, as: "\(number)", in: .worker) } }
                try await group.waitForAll()
            }
        }
    }
}
