internal import CNNG
import ConcurrencySupport

/// Calls back once after a time, on one of nng's threads.
///
/// Time-outs are made with it rather than with `nng_aio_set_timeout`: nng's expiry thread calls the stream's cancel function without
/// holding the stream, which could be freed meanwhile.
final class Alarm: Sendable {
    private let operation: AsyncOperation

    init(for name: String, address: String) throws(NNGError) {
        operation = try AsyncOperation(for: name, address: address)
    }

    /// Starts the alarm; to be called once.
    ///
    /// `action` gets nil when the time has passed, or the reason why the alarm ended early.
    func start(after time: Duration, action: @escaping @Sendable (NNGError.Code?) -> Void) {
        let milliseconds = max(1, time.millisecondsRoundedUp)
        let submission = operation.submit { outcome in
            action(outcome.code)
        } start: { aio in
            nng_sleep_aio(milliseconds, aio)
        }
        if case .accepted = submission { return }
        action(.busy)
    }

    func cancel() {
        operation.cancel(.canceled)
    }

    /// Suspends the task for a time.
    ///
    /// Cancellation ends the wait with `.canceled`.
    static func sleep(for time: Duration, operation: String, address: String) async throws(NNGError) {
        let alarm = try Alarm(for: operation, address: address)
        let code = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                alarm.start(after: time) { continuation.resume(returning: $0) }
                if Task.isCancelled { alarm.cancel() }
            }
        } onCancel: {
            alarm.cancel()
        }
        if let code {
            throw NNGError(code, operation: operation, address: address)
        }
    }
}
