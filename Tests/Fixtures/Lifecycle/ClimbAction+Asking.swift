import Coordinators

extension Climb.Action {
    /// Asks on behalf of a coordinator; what only one type can do is refused.
    func performed(from context: CoordinatorContext<some Coordinator>) async throws -> String {
        switch self {
        case .own:
            return try await context.ask(Climb.Own(), timeout: .seconds(20))
        case .add(let amount, let manner):
            return String(try await context.ask(Climb.Add(amount, manner), timeout: .seconds(20)))
        case .both:
            return try await context.ask(Climb.Both(), timeout: .seconds(20))
        case .refuse(let isCodable):
            try await context.ask(Fixture.Refuse(asCodable: isCodable), timeout: .seconds(20))
            return "not refused"
        case .nobody:
            try await context.ask(Fixture.NobodyAnswersThis(), timeout: .seconds(600))
            return "answered"
        case .sendNobody:
            return try await context.send(Fixture.NobodyAnswersThis()) ? "taken" : "nobody"
        case .feed(let count, let end, let taken):
            return try await Self.feed(from: context, Climb.Feed(count, end), taken)
        case .first(let count):
            return String(try await context.ask(Climb.Feed(count, .returns), timeout: .seconds(20)))
        case .origin(let milliseconds):
            let origin = try await context.ask(Climb.Origin(), timeout: .milliseconds(milliseconds))
            let isWithin = origin.remainingMilliseconds.map { (0...milliseconds).contains($0) }
            return "\(origin.sender), \(isWithin.map { $0 ? "in time" : "out of time" } ?? "no deadline")"
        case .trace:
            return try await context.ask(Climb.Origin(), timeout: .seconds(20)).trace ?? "none"
        case .nearestAfterGate(let milliseconds):
            return try await Self.nearestAfterGate(from: context, milliseconds)
        case .startLeaf, .addUp, .seen:
            throw Fixture.Refusal("not here")
        }
    }

    private static func feed(from context: CoordinatorContext<some Coordinator>, _ feed: Climb.Feed, _ taken: Int?) async throws -> String {
        var replies: [Int] = []
        do {
            for try await reply in context.stream(feed, timeout: .seconds(60)) {
                replies.append(reply)
                if replies.count == taken { break }
            }
        } catch {
            return "\(replies.count), then \(Fixture.Refusal.reason(of: error))"
        }
        return replies == Array(0..<replies.count) ? "\(replies.count) in order" : "\(replies)"
    }

    private static func nearestAfterGate(from context: CoordinatorContext<some Coordinator>, _ milliseconds: Int) async throws -> String {
        try await context.ask(Life.PassGate(), timeout: .seconds(60))
        do {
            return try await context.ask(Climb.Nearest(), timeout: .milliseconds(milliseconds))
        } catch let error as CoordinatorError {
            return error.code.description
        }
    }
}
