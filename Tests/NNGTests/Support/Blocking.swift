import Glibc

/// Runs what may block on a thread of its own: the cooperative pool has only as many threads as there are processors.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let work = Unmanaged.passRetained(Work { continuation.resume(with: Result { try body() }) })
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            },
            work.toOpaque()
        )
        if result == 0 {
            pthread_detach(thread)
        } else {
            work.release()
            continuation.resume(throwing: SystemCallError("pthread_create"))
        }
    }
}

private final class Work: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
