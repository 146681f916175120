public import Testing

/// Expects that something takes less than a limit, at least once in several attempts.
///
/// For what a mistake would hold up each time, by a time of its own that is longer than the limit. What else a busy machine has to do holds
/// up some attempts, so one in time is enough, and the others aren't made.
///
/// - Parameters:
///   - limit: What one attempt may take.
///   - attempts: How many are made at most.
///   - attempt: Makes one, and returns what it took.
public func expectPromptly(
    within limit: Duration,
    attempts: Int = 5,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ attempt: () async throws -> Duration
) async throws {
    var times: [Duration] = []
    for _ in 0..<attempts {
        let time = try await attempt()
        if time < limit { return }
        times.append(time)
    }
    Issue.record("no attempt took less than \(limit): \(times)", sourceLocation: sourceLocation)
}
