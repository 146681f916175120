import Coordinators

/// Asks of many tasks at a time for a while: how many a second, and what one costs.
struct ConcurrentAsks: Measurement {
    /// Makes a coordinator ask the root.
    struct Request: ResponderMessage {
        struct Reply: Codable, Sendable {
            var asks: Int
            var nanoseconds: Int64
            var processorTime: Int64
        }

        var row: RowKind
        var bytes: [UInt8]
        var askers: Int
        var milliseconds: Int
    }

    let place: Place
    let row: RowKind
    let payload: Int
    let concurrency: [Int]
    let milliseconds: Int

    init(_ arguments: inout Arguments) throws {
        place = try arguments.take("place", default: .local)
        row = try arguments.take("row", default: .ordinary)
        payload = try arguments.take("payload", default: 64)
        concurrency = try arguments.take("concurrency", default: [256])
        milliseconds = try arguments.take("milliseconds", default: 1_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        let path = try await runtime.startHops(1, in: place, asking: row)
        let bytes = [UInt8](repeating: 120, count: payload)
        _ = try await runtime.ask(Request(row: row, bytes: bytes, askers: 16, milliseconds: 200), at: path, timeout: .seconds(60))
        for askers in concurrency {
            let request = Request(row: row, bytes: bytes, askers: askers, milliseconds: milliseconds)
            let before = ProcessUsage.processorTime
            let reply = try await runtime.ask(request, at: path, timeout: .seconds(60))
            // Of the root's process, and of the asker's if that is another one.
            let processorTime = ProcessUsage.processorTime - before + (place == .worker ? reply.processorTime : 0)
            Figures.print("rate/\(askers)", Double(reply.asks) / Double(reply.nanoseconds) * 1e9)
            // The time in which each of them is answered once.
            Figures.print("round/\(askers)", reply.nanoseconds * Int64(askers) / Int64(reply.asks))
            Figures.print("processor/\(askers)", processorTime / Int64(reply.asks))
        }
    }
}

extension ConcurrentAsks.Request {
    /// The number of asks after which an asker looks at the clock, here and in the peers: to read it takes a sixth of an ask.
    private static let looks = 16

    @concurrent
    func ask(_ context: Hop.Context) async throws -> Reply {
        switch row {
        case .ordinary: try await ask(Echo.self, context)
        case .awaiting: try await ask(EchoAwaiting.self, context)
        case .inline: try await ask(EchoInline.self, context)
        case .serial: try await ask(EchoSerial.self, context)
        }
    }

    private func ask<Message: EchoedMessage>(_ type: Message.Type, _ context: Hop.Context) async throws -> Reply {
        let processorTime = ProcessUsage.processorTime
        let start = Clock.now
        let end = start + Int64(milliseconds) * 1_000_000
        let asks = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<askers {
                group.addTask {
                    let message = Message(bytes: bytes)
                    var count = 0
                    while count % Self.looks != 0 || Clock.now < end {
                        _ = try await context.ask(message, timeout: .seconds(60))
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        return Reply(asks: asks, nanoseconds: Clock.now - start, processorTime: ProcessUsage.processorTime - processorTime)
    }
}
