import Coordinators

/// Asks that no coordinator answers: the time until each one fails.
struct UnhandledAsks: Measurement {
    /// Makes a coordinator ask what no coordinator answers.
    struct Request: ResponderMessage {
        typealias Reply = Percentiles
        var count: Int
    }

    let place: Place
    let count: Int

    init(_ arguments: inout Arguments) throws {
        place = try arguments.take("place", default: .local)
        count = try arguments.take("count", default: 5_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        let path = try await runtime.startHops(1, in: place)
        _ = try await runtime.ask(Request(count: 500), at: path, timeout: .seconds(60))
        Figures.print(try await runtime.ask(Request(count: count), at: path, timeout: .seconds(60)))
    }
}

extension Hop {
    func percentiles(_ request: UnhandledAsks.Request) async throws -> Percentiles {
        var durations: [Int64] = []
        durations.reserveCapacity(request.count)
        for _ in 0..<request.count {
            let start = Clock.now
            do {
                try await context.ask(Unheard())
            } catch let error as CoordinatorError where error.code == .unhandled {
                durations.append(Clock.now - start)
            }
        }
        return Percentiles(of: durations)
    }
}
