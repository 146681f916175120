public import Testing

/// Waits until something holds; a test for which it never does ends there.
///
/// - Parameters:
///   - what: what is waited for, in words that follow "never:"; asked for when it's over.
///   - limit: how long it may take; a loaded machine needs more than it looks.
///   - condition: it's asked every two milliseconds; nil is no.
public func eventually(
    _ what: @autoclosure () -> String,
    within limit: Duration = .seconds(20),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool?
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await condition() != true {
        try #require(ContinuousClock.now < deadline, "never: \(what())", sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Whether something holds within twenty seconds; for expectations that say by themselves what is waited for.
public func eventually(_ condition: () async -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(20)
    while await !condition() {
        guard ContinuousClock.now < deadline else { return false }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return true
}
