import ConcurrencySupport
public import Coordinators

public enum Traces {
    /// An object that a message carries: it lives as long as anything holds the message.
    public final class Tracer: Codable, Sendable {
        private static let living = Lock(0)

        public static var count: Int { living.withLock { $0 } }

        public init() { Self.living.withLock { $0 += 1 } }

        public init(from decoder: any Decoder) throws {
            _ = try decoder.singleValueContainer().decode(Int.self)
            Self.living.withLock { $0 += 1 }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(1)
        }

        deinit { Self.living.withLock { $0 -= 1 } }
    }

    /// Answered with the numbers from 0, one after the other.
    public struct Stream: ResponderMessage {
        public typealias Reply = Int
        public var count: Int
        public var tracer = Tracer()
        public init(_ count: Int) { self.count = count }
    }

    /// The way in which a reader reads.
    public enum Reading: String, Codable, Sendable, CaseIterable {
        case toTheEnd, untilTheThird, untilCancelled
    }

    /// Reads so many streams, one after the other.
    public struct Read: ResponderMessage {
        public typealias Reply = Int
        public var streams: Int
        public var reading: Reading
        public init(_ streams: Int, _ reading: Reading) { (self.streams, self.reading) = (streams, reading) }
    }

    /// Asks for the number of tracers in the responder's process.
    public struct Living: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }
}

/// Reads what the root streams.
public actor TraceReader: Coordinator {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Traces.Read.self) { me, request in
            var replies = 0
            for _ in 0..<request.streams { replies += try await TraceReader.read(request.reading, from: me.context) }
            return replies
        },
        .respond(to: Traces.Living.self) { _, _ in Traces.Tracer.count },
    ]

    private static func read(_ reading: Traces.Reading, from context: TraceReader.Context) async throws -> Int {
        var replies = 0
        switch reading {
        case .toTheEnd:
            for try await _ in context.stream(Traces.Stream(10)) { replies += 1 }
        case .untilTheThird:
            for try await _ in context.stream(Traces.Stream(1_000_000)) {
                replies += 1
                if replies == 3 { break }
            }
        case .untilCancelled:
            let task = Task {
                var replies = 0
                for try await _ in context.stream(Traces.Stream(1_000_000)) {
                    replies += 1
                    if replies == 3 { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return replies
            }
            _ = await task.result
            replies = 3
        }
        return replies
    }
}
