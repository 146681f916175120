import Coordinators

/// Asks that climb through more and more coordinators of one process.
struct ChainDepth: Measurement {
    let depths: [Int]
    let count: Int

    init(_ arguments: inout Arguments) throws {
        depths = try arguments.take("depths", default: [1, 2, 4, 8, 16])
        count = try arguments.take("count", default: 20_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        _ = try await runtime.startHops(depths.max() ?? 1, in: .local)
        for depth in depths {
            var request = RoundTrips.Request(row: .ordinary, bytes: [UInt8](repeating: 120, count: 64), count: 1_000)
            _ = try await runtime.ask(request, at: .hop(at: depth), timeout: .seconds(60))
            request.count = count
            Figures.print("p50/\(depth)", try await runtime.ask(request, at: .hop(at: depth), timeout: .seconds(60)).p50)
        }
    }
}
