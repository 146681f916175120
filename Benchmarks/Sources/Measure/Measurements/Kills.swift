import Coordinators
import Glibc

/// The time from `kill -9` of a worker to the first answer of its next incarnation, without backoff.
struct Kills: Measurement {
    /// Makes the root start the worker that is killed.
    struct Start: ResponderMessage {
        var spares: Int
    }

    let count: Int
    let spares: Int

    init(_ arguments: inout Arguments) throws {
        count = try arguments.take("count", default: 50)
        spares = try arguments.take("spares", default: 0)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        try await runtime.ask(Start(spares: spares), timeout: .seconds(60))
        let path = CoordinatorPath.root.appending("target")
        var pid = try await runtime.ask(Idle.WhoAreYou(), at: path)
        var durations: [Int64] = []
        for _ in 0..<count {
            // Time for a spare to come up, for a fair comparison in both cases.
            try await Task.sleep(for: .milliseconds(50))
            let start = Clock.now
            kill(pid, SIGKILL)
            pid = try await next(after: pid, at: path, runtime)
            durations.append(Clock.now - start)
        }
        Figures.print(Percentiles(of: durations))
    }

    private func next(after pid: Int32, at path: CoordinatorPath, _ runtime: CoordinatorRuntime) async throws -> Int32 {
        while true {
            do {
                let answer = try await runtime.ask(Idle.WhoAreYou(), at: path)
                if answer != pid { return answer }
            } catch let error as CoordinatorError where error.code == .peerLost {
            }
        }
    }
}
