extension TaskLocal {
    /// Binds a value while an operation runs, which stays on the caller's executor.
    ///
    /// A closure that is given to `withValue` by a function that isn't isolated leaves its caller's executor; when it comes back, other work of
    /// the actor may have begun.
    package func binding<Result>(
        _ value: Value,
        isolation: isolated (any Actor)? = #isolation,
        _ operation: () async throws -> Result
    ) async rethrows -> Result {
        try await withValue(value) {
            _ = isolation
            return try await operation()
        }
    }
}
