/// A value that a task makes, and that may be given up meanwhile.
///
/// A value that comes after that is handed to the function `late`, which clears it away.
package final class PendingValue<Value: Sendable>: Sendable {
    private let outcome = OneShot<Result<Value, any Error>>()

    /// Begins to make the value.
    package init(
        in tasks: OwnedTasks,
        _ make: @escaping @Sendable () async throws -> Value,
        late: @escaping @Sendable (Value) async -> Void
    ) {
        tasks.add { [outcome] in
            do {
                let value = try await make()
                if !outcome.settle(.success(value)) { await late(value) }
            } catch {
                outcome.settle(.failure(error))
            }
        }
    }

    /// The value; throws what has kept it from being made, or why it was given up.
    package var value: Value { get async throws { try await outcome.value.get() } }

    /// Waits until the value is there, or can't be, or some time has passed; returns whether it has come to that.
    package func isSettled(within patience: Duration) async -> Bool { await outcome.value(before: .now + patience) != nil }

    /// Gives the value up, unless it's there.
    package func giveUp(_ error: any Error) { outcome.settle(.failure(error)) }

    /// Gives the value up, unless it's there after some time.
    package func giveUp(_ error: any Error, after patience: Duration) async {
        if await !isSettled(within: patience) { giveUp(error) }
    }
}
