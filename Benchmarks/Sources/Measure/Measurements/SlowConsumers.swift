import Coordinators

/// Fast senders to a coordinator that handles one message a second: what they cost the process, and the links of others.
struct SlowConsumers: Measurement {
    private static let turns = 5

    let senders: Int
    let payload: Int
    let milliseconds: Int

    init(_ arguments: inout Arguments) throws {
        senders = try arguments.take("senders", default: 10)
        payload = try arguments.take("payload", default: 16 << 10)
        milliseconds = try arguments.take("milliseconds", default: 1_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        let other = try await runtime.startHops(1, in: .worker)
        _ = try await rate(of: other, runtime)
        var memory: [Double] = []
        var throughput: [Double] = []
        var pings: [Int64] = []
        // In turns, so that a slow moment of the machine meets both.
        for _ in 0..<Self.turns {
            let before = try await rate(of: other, runtime)
            let resident = ProcessUsage.residentBytes
            try await startConsumer(runtime)
            throughput.append(try await rate(of: other, runtime) / before)
            for _ in 0..<100 {
                pings.append(try await Clock.duration { _ = try await runtime.snapshot(of: "/slow/sender-1") })
            }
            memory.append(Double(ProcessUsage.residentBytes - resident) / Double(bound))
            _ = try await runtime.ask(StopSlowConsumer(), timeout: .seconds(60))
        }
        // Later turns use what the first has left to the allocator.
        Figures.print("memory", 100 * (memory.max() ?? 0))
        Figures.print("throughput", 100 * throughput.sorted()[Self.turns / 2])
        Figures.print("ping", Percentiles(of: pings).p99)
    }

    /// The bytes that may wait: those of the mailbox, and the window of each sender, which may be under way besides.
    private var bound: Int { SlowConsumer.mailbox.bytes + senders * (256 << 10) }

    /// Starts the consumer and its senders; returns when everything is full.
    private func startConsumer(_ runtime: CoordinatorRuntime) async throws {
        try await runtime.ask(StartSlowConsumer(senders: senders), timeout: .seconds(60))
        for number in 1...senders {
            let sender = CoordinatorPath("/slow/sender-\(number)") ?? .root
            try await runtime.ask(SlowConsumer.Send(payload: payload), at: sender)
        }
        try await Task.sleep(for: .seconds(2))
    }

    /// The asks that the other worker's coordinator has answered in a second.
    private func rate(of other: CoordinatorPath, _ runtime: CoordinatorRuntime) async throws -> Double {
        let bytes = [UInt8](repeating: 120, count: 64)
        let request = ConcurrentAsks.Request(row: .ordinary, bytes: bytes, askers: 16, milliseconds: milliseconds)
        let reply = try await runtime.ask(request, at: other, timeout: .seconds(60))
        return Double(reply.asks) / Double(reply.nanoseconds) * 1e9
    }
}

/// Starts the coordinator that is slow, and the workers below it.
struct StartSlowConsumer: ResponderMessage {
    var senders: Int
}

/// Stops the coordinator that is slow, with everything below it.
struct StopSlowConsumer: ResponderMessage {}
