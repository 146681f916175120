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
        try await runtime.ask(StartSlowConsumer(senders: senders), timeout: .seconds(60))
        let memory = ProcessUsage.residentBytes
        for number in 1...senders {
            let sender = CoordinatorPath("/slow/sender-\(number)") ?? .root
            try await runtime.ask(SlowConsumer.Send(payload: payload), at: sender)
        }
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

/// Starts the coordinator that is slow, and the workers below it.
struct StartSlowConsumer: ResponderMessage {
    var senders: Int
}
