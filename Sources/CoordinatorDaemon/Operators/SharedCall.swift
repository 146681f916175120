import ConcurrencySupport

/// A call whose result concurrent callers share: all callers that come while one call runs get the result of the next.
///
/// No caller gets a result that is older than its question.
final class SharedCall<Value: Sendable>: Sendable {
    private typealias Calling = Task<Result<Value, any Error>, Never>

    private struct State {
        /// The latest call that has begun.
        var running: Calling?
        /// The call that begins after that one.
        var next: Calling?
    }

    private let call: @Sendable () async throws -> Value
    private let state = Lock(State())

    init(_ call: @escaping @Sendable () async throws -> Value) { self.call = call }

    /// Returns the result of a call that begins after this one.
    ///
    /// The task of a call belongs to no single caller, so a caller's cancellation doesn't cancel it; the last of its callers awaits it.
    func value() async throws -> Value {
        let calling = state.withLock { state -> Calling in
            if let next = state.next { return next }
            let former = state.running
            // No caller owns it: when one is cancelled, the others get the result all the same. It ends with the call.
            let next = Task { [self] in
                _ = await former?.value
                startCall()
                return await result()
            }
            state.next = next
            return next
        }
        return try await calling.value.get()
    }

    /// Makes the next call the running one; callers from now on get the call after it.
    private func startCall() {
        state.withLock { state in
            state.running = state.next
            state.next = nil
        }
    }

    private func result() async -> Result<Value, any Error> {
        do { return .success(try await call()) } catch { return .failure(error) }
    }
}
