import ConcurrencySupport

/// Runs what may block on a thread of its own: the cooperative pool has only as many threads as there are processors.
public func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        if !DetachedThread.run({ continuation.resume(with: Result { try body() }) }) { continuation.resume(throwing: NoThread()) }
    }
}

private struct NoThread: Error {}
