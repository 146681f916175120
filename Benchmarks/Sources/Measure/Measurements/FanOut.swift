import Coordinators

/// Events of one coordinator to many receivers, for a while: how many a second arrive.
struct FanOut: Measurement {
    /// Makes the root start a coordinator, observe it many times, and have it send events.
    struct Request: ResponderMessage {
        /// Deliveries a second.
        typealias Reply = Double
        var place: Place
        var receivers: Int
        var milliseconds: Int
    }

    let place: Place
    let receivers: [Int]
    let milliseconds: Int

    init(_ arguments: inout Arguments) throws {
        place = try arguments.take("place", default: .local)
        receivers = try arguments.take("receivers", default: [1, 10, 100])
        milliseconds = try arguments.take("milliseconds", default: 1_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        for count in receivers {
            let request = Request(place: place, receivers: count, milliseconds: milliseconds)
            let rate = try await runtime.ask(request, timeout: .seconds(60))
            Figures.print("rate/\(count)", rate)
            // The time in which one event arrives at all of them.
            Figures.print("event/\(count)", Double(count) / rate * 1e9)
        }
    }
}

extension FanOut.Request {
    /// Fewer than a receiver's queue holds: none is dropped.
    private static let burst = 100

    @concurrent
    func deliver(_ root: Root.Context) async throws -> Double {
        let child = try await root.start(Announcer.self, as: "announcer", in: place == .worker ? .worker : .inProcess)
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let rate = try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<receivers {
                // Made here, so that it observes from now on.
                let events = child.events()
                group.addTask {
                    var count = 0
                    for await _ in events {
                        count += 1
                        if count % Self.burst == 0 { arrival.yield() }
                    }
                }
            }
            let rate = try await measureRate(child, arrivals)
            group.cancelAll()
            return rate
        }
        try await root.remove("announcer")
        return rate
    }

    /// Lets bursts follow each other, each when the last has arrived everywhere.
    private func measureRate(_ child: Child<Announcer>, _ arrivals: AsyncStream<Void>) async throws -> Double {
        var arrived = arrivals.makeAsyncIterator()
        let start = Clock.now
        let end = start + Int64(milliseconds) * 1_000_000
        var bursts = 0
        repeat {
            try await child.ask(Announcer.Announce(events: Self.burst))
            for _ in 0..<receivers { await arrived.next() }
            bursts += 1
        } while Clock.now < end
        return Double(bursts * Self.burst * receivers) / Double(Clock.now - start) * 1e9
    }
}
