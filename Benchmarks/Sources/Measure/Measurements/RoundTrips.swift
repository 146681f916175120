import Coordinators

/// Asks one after the other, and the duration of each.
struct RoundTrips: Measurement {
    /// Makes a coordinator ask the root.
    struct Request: ResponderMessage {
        typealias Reply = Percentiles
        var row: RowKind
        var bytes: [UInt8]
        var count: Int
    }

    let place: Place
    let levels: Int
    let row: RowKind
    let payload: Int
    let count: Int

    init(_ arguments: inout Arguments) throws {
        place = try arguments.take("place", default: .local)
        levels = try arguments.take("levels", default: 1)
        row = try arguments.take("row", default: .ordinary)
        payload = try arguments.take("payload", default: 64)
        count = try arguments.take("count", default: 20_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        let path = try await runtime.startHops(levels, in: place, asking: row)
        var request = Request(row: row, bytes: [UInt8](repeating: 120, count: payload), count: 2_000)
        _ = try await runtime.ask(request, at: path, timeout: .seconds(60))
        request.count = count
        Figures.print(try await runtime.ask(request, at: path, timeout: .seconds(60)))
    }
}

extension Hop {
    func percentiles(_ request: RoundTrips.Request) async throws -> Percentiles {
        switch request.row {
        case .ordinary: try await percentiles(of: Echo.self, request)
        case .awaiting: try await percentiles(of: EchoAwaiting.self, request)
        case .inline: try await percentiles(of: EchoInline.self, request)
        case .serial: try await percentiles(of: EchoSerial.self, request)
        }
    }

    private func percentiles<Message: EchoedMessage>(of type: Message.Type, _ request: RoundTrips.Request) async throws -> Percentiles {
        var durations: [Int64] = []
        durations.reserveCapacity(request.count)
        for _ in 0..<request.count {
            let message = Message(bytes: request.bytes)
            let start = Clock.now
            _ = try await context.ask(message)
            durations.append(Clock.now - start)
        }
        return Percentiles(of: durations)
    }
}
