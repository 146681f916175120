public import Testing

// The library's own tests wait as its users' tests do.
@_exported public import func CoordinatorsTesting.eventually

/// Waits until something holds, on behalf of the place that a helper was called from.
public func eventually(
    _ what: @autoclosure () -> String,
    sourceLocation: SourceLocation,
    _ condition: () async throws -> Bool?
) async throws {
    try await eventually(what(), fileID: sourceLocation.fileID, line: sourceLocation.line, condition)
}

/// Waits for up to a minute until a condition holds; one that throws doesn't hold yet, and the failure says what it has thrown last.
///
/// Many tests have a daemon at the same time, hence the long wait.
public func eventuallyWithoutError(
    _ what: @autoclosure () -> String,
    sourceLocation: SourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    var failure = ""
    try await eventually(what() + failure, within: .seconds(60), fileID: sourceLocation.fileID, line: sourceLocation.line) {
        do {
            let holds = try await condition()
            failure = ""
            return holds
        } catch {
            failure = "; the last look failed: \(error)"
            return false
        }
    }
}
