public import Testing

/// Waits until something holds, twenty seconds at most (more with the thread sanitizer); a test for which it never does ends there.
///
/// - Parameters:
///   - what: what is waited for, in words that follow "never:"; asked for when it's over.
///   - condition: it's asked every two milliseconds; nil is no.
public func eventually(
    _ what: @autoclosure () -> String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool?
) async throws {
    try #require(await holdsInTime(condition), "never: \(what())", sourceLocation: sourceLocation)
}

/// Whether something holds within twenty seconds; for expectations that say by themselves what is waited for.
public func eventually(_ condition: () async -> Bool) async -> Bool {
    // It's over too when the test is cancelled.
    (try? await holdsInTime(condition)) == true
}

private func holdsInTime(_ condition: () async throws -> Bool?) async throws -> Bool {
    let deadline = ContinuousClock.now + patience
    while try await condition() != true {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(2))
    }
    return true
}

/// A loaded machine needs more than it looks.
private let patience = Duration.patient(.seconds(20))
