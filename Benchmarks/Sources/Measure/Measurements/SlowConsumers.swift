import Coordinators

/// Fast senders to a coordinator that handles one message a second: what they cost the process, and the links of others.
struct SlowConsumers: Measurement {
    let senders: Int
    let payload: Int
    let milliseconds: Int

    init(_ arguments: inout Arguments) throws {
        senders = try arguments.take("senders", default: 10)
        payload = try arguments.take("payload", default: 16 << 10)
        milliseconds = try arguments.take("milliseconds", default: 3_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        let other = try await runtime.startHops(1, in: .worker)
        _ = try await rate(of: other, runtime)
        let before = try await rate(of: other, runtime)
        try await runtime.ask(StartSlowConsumer())
        let memory = ProcessUsage.residentBytes
        let start = SlowConsumer.StartSenders(count: senders, payload: payload)
        try await runtime.ask(start, at: "/slow", timeout: .seconds(60))
        // By now everything is full.
        try await Task.sleep(for: .seconds(2))
        let after = try await rate(of: other, runtime)
        var pings: [Int64] = []
        for _ in 0..<100 {
            pings.append(try await Clock.duration { _ = try await runtime.snapshot(of: "/slow/sender-1") })
        }
        // The window of each sender, which may be under way besides what waits.
        let bound = SlowConsumer.mailbox.bytes + senders * (256 << 10)
        Figures.print("memory", 100 * Double(ProcessUsage.residentBytes - memory) / Double(bound))
        Figures.print("throughput", 100 * after / before)
        Figures.print("ping", Percentiles(of: pings).p99)
    }

    /// The asks that the other worker's coordinator has answered in a second.
    private func rate(of other: CoordinatorPath, _ runtime: CoordinatorRuntime) async throws -> Double {
        let bytes = [UInt8](repeating: 120, count: 64)
        let request = ConcurrentAsks.Request(row: .ordinary, bytes: bytes, askers: 16, milliseconds: milliseconds)
        let reply = try await runtime.ask(request, at: other, timeout: .seconds(60))
        return Double(reply.asks) / Double(reply.nanoseconds) * 1e9
    }
}

/// Starts the coordinator that is slow.
struct StartSlowConsumer: ResponderMessage {}
