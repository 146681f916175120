import Coordinators

/// Messages without replies from one sender, for a while: how many a second are handled.
struct OneWayMessages: Measurement {
    /// Makes a coordinator send to the root; returns when all messages have been handled.
    struct Request: ResponderMessage {
        struct Reply: Codable, Sendable {
            var messages: Int
            var nanoseconds: Int64
        }

        var bytes: [UInt8]
        var milliseconds: Int
    }

    let place: Place
    let payload: [Int]
    let milliseconds: Int

    init(_ arguments: inout Arguments) throws {
        place = try arguments.take("place", default: .local)
        payload = try arguments.take("payload", default: [64])
        milliseconds = try arguments.take("milliseconds", default: 1_000)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        let path = try await runtime.startHops(1, in: place)
        _ = try await runtime.ask(Request(bytes: [120], milliseconds: 200), at: path, timeout: .seconds(60))
        for size in payload {
            let request = Request(bytes: [UInt8](repeating: 120, count: size), milliseconds: milliseconds)
            let reply = try await runtime.ask(request, at: path, timeout: .seconds(60))
            Figures.print("rate/\(size)", Double(reply.messages) / Double(reply.nanoseconds) * 1e9)
            Figures.print("message/\(size)", Double(reply.nanoseconds) / Double(reply.messages))
        }
    }
}

extension Hop {
    func send(_ request: OneWayMessages.Request) async throws -> OneWayMessages.Request.Reply {
        let note = Note(bytes: request.bytes)
        let start = Clock.now
        let end = start + Int64(request.milliseconds) * 1_000_000
        var sent = 0
        repeat {
            for _ in 0..<64 { try await context.send(note) }
            sent += 64
        } while Clock.now < end
        // Messages of one sender begin in order, so the answer comes after the last message.
        let handled = try await context.ask(TakeNotes(), timeout: .seconds(60))
        guard handled == sent else { throw UsageError("\(sent) messages were sent and \(handled) handled") }
        return OneWayMessages.Request.Reply(messages: handled, nanoseconds: Clock.now - start)
    }
}
