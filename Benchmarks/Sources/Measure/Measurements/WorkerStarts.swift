import Coordinators
import Glibc

/// Workers that are started one after the other: the time until each is ready.
struct WorkerStarts: Measurement {
    /// Makes the root start a worker and stop it, again and again.
    struct Request: ResponderMessage {
        typealias Reply = Percentiles
        var count: Int
    }

    let count: Int
    /// Whether the workers' program registers forty types of coordinators instead of three.
    let registersForty: Bool

    init(_ arguments: inout Arguments) throws {
        count = try arguments.take("count", default: 50)
        registersForty = try arguments.take("forty-types", default: false)
        // Before the runtime is made, which reads the environment that workers inherit.
        if registersForty { setenv(HostedTypes.variable, "1", 1) }
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        _ = try await runtime.ask(Request(count: 3), timeout: .seconds(60))
        Figures.print(try await runtime.ask(Request(count: count), timeout: .seconds(60)))
    }
}

extension WorkerStarts.Request {
    @concurrent
    func start(_ root: Root.Context) async throws -> Percentiles {
        var durations: [Int64] = []
        for _ in 0..<count {
            let start = Clock.now
            try await root.start(Idle.self, as: "worker", in: .worker)
            durations.append(Clock.now - start)
            try await root.remove("worker")
        }
        return Percentiles(of: durations)
    }
}
