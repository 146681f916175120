internal import CNNG
import ConcurrencySupport

extension Handle {
    /// Runs one operation on the handle and waits for its end, cancel-safe: when the task is cancelled the operation either had no
    /// effect and `.canceled` is thrown, or it was over already and its outcome is returned.
    ///
    /// `resources` is kept until nng has called back.
    func perform(
        _ name: String,
        address: String,
        timeout: Duration? = nil,
        keeping resources: (any AnyObject & Sendable)? = nil,
        start: (_ resource: OpaquePointer, _ aio: OpaquePointer) -> Void
    ) async throws(NNGError) -> AsyncOperation.Outcome {
        if Task.isCancelled {
            throw NNGError(.canceled, operation: name, address: address)
        }
        let operation = try AsyncOperation(for: name, address: address)
        let request = CancellationRequest()
        var alarm: Alarm?
        if let timeout {
            let timer = try Alarm(for: name, address: address)
            timer.start(after: timeout) { code in
                guard code == nil else { return }
                request.make(.timedOut)
                operation.cancel(.timedOut)
            }
            alarm = timer
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let submission = operation.submit(on: self, request: request) { outcome in
                    _ = resources
                    continuation.resume(returning: outcome)
                } start: { resource, aio in
                    start(resource, aio)
                }
                switch submission {
                case .accepted: break
                case .busy: continuation.resume(returning: AsyncOperation.Outcome(code: .busy))
                case .closed: continuation.resume(returning: AsyncOperation.Outcome(code: .closed))
                }
            }
        } onCancel: {
            request.make(.canceled)
            operation.cancel(.canceled)
        }
        alarm?.cancel()
        if let code = outcome.code {
            throw NNGError(code, operation: name, address: address)
        }
        return outcome
    }
}
