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
