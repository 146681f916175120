public import Coordinators

extension FixtureFlow {
    /// Answered by the root with the numbers from 1, one after the other.
    public struct Count: ResponderMessage {
        public typealias Reply = Counted
        public var to: Int
        public var padding = ""
        /// Fails after this number.
        public var failsAt: Int?
        /// Waits after this number until it's cancelled.
        public var holdsAt: Int?
        public init(to: Int, padding: String = "", failsAt: Int? = nil, holdsAt: Int? = nil) {
            self.to = to
            self.padding = padding
            self.failsAt = failsAt
            self.holdsAt = holdsAt
        }
    }

    public struct Counted: Codable, Sendable, Hashable {
        public var number: Int
        public var padding: String
        public init(number: Int, padding: String) { (self.number, self.padding) = (number, padding) }
    }

    /// Asks for the number of replies that the root's present stream has sent.
    public struct SentSoFar: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Asks for the ends of the root's streams: "whole", "cancelled", "failed".
    public struct EndedStreams: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// Reads a stream, and answers with what came.
    public struct Read: ResponderMessage {
        public typealias Reply = WasRead
        public var count: Count
        public var stopsAfter: Int?
        /// After so many it notes down "holding" and reads on when the notebook says so.
        public var holdsAfter: Int?
        public var milliseconds: Int?
        public init(_ count: Count, stopsAfter: Int? = nil, holdsAfter: Int? = nil, milliseconds: Int? = nil) {
            self.count = count
            self.stopsAfter = stopsAfter
            self.holdsAfter = holdsAfter
            self.milliseconds = milliseconds
        }
    }

    public struct WasRead: Codable, Sendable, Hashable {
        public var numbers: [Int]
        /// "ended", "stopped", or the error.
        public var end: String
    }

    /// Asks what could be streamed: the first reply is the answer.
    public struct ReadFirst: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }
}

/// Reads what those above it stream.
public actor ReaderCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public static let readOn = "read on"

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: FixtureFlow.Read.self) { me, request in try await me.read(request) },
        .respond(to: FixtureFlow.ReadFirst.self) { me, _ in
            try await me.context.ask(FixtureFlow.Count(to: 5, holdsAt: 5), timeout: .seconds(15)).number
        },
        .respond(to: FixtureFlow.StartAlike.self) { me, start in try await me.context.startAlike(start) },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
    ]

    private func read(_ request: FixtureFlow.Read) async throws -> FixtureFlow.WasRead {
        var numbers: [Int] = []
        do {
            let timeout = request.milliseconds.map { Duration.milliseconds($0) }
            for try await counted in context.stream(request.count, timeout: timeout) {
                numbers.append(counted.number)
                if counted.number == 1 { note("first") }
                if numbers.count == request.stopsAfter { return FixtureFlow.WasRead(numbers: numbers, end: "stopped") }
                if numbers.count == request.holdsAfter {
                    note("holding")
                    try await notebook.wait(for: Self.readOn)
                }
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let end = (error as? CoordinatorError).map { "\($0.code)" } ?? Fixture.Refusal.reason(of: error)
            return FixtureFlow.WasRead(numbers: numbers, end: end)
        }
        try Task.checkCancellation()
        return FixtureFlow.WasRead(numbers: numbers, end: "ended")
    }
}
