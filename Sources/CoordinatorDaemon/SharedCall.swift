import ConcurrencySupport

/// A call whose result many may share: of those who ask while it's under way, all get the result of the next one.
///
/// Nobody gets a result that is older than the question.
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

    /// The result of a call that begins from now on.
    func value() async throws -> Value {
        let calling = state.withLock { state -> Calling in
            if let next = state.next { return next }
            let former = state.running
            // No caller owns it: when one is cancelled, the others get the result all the same. It ends with the call.
            let next = Task { [self] in
                _ = await former?.value
                begin()
                return await result()
            }
            state.next = next
            return next
        }
        return try await calling.value.get()
    }

    /// Who asks from now on gets the call after this one.
    private func begin() {
        state.withLock { state in
            state.running = state.next
            state.next = nil
        }
    }

    private func result() async -> Result<Value, any Error> {
        do { return .success(try await call()) } catch { return .failure(error) }
    }
}
