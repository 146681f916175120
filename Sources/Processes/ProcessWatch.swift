import ConcurrencySupport
import Synchronization

/// A wait for the end of a process that isn't a child of this one.
final class ProcessWatch: Sendable {
    /// The result of the wait.
    enum Outcome: Sendable {
        case gone
        case cancelled
        /// There was no descriptor for the wait.
        case failed
    }

    let identity: ProcessIdentity
    /// Whether the wait was cancelled; set before the command is posted, so that the order of the commands "wait" and "cancel" doesn't
    /// matter.
    let isCancelled = Atomic(false)

    init(_ identity: ProcessIdentity) {
        self.identity = identity
    }
}

extension ProcessThread {
    /// Waits for the end of a process.
    ///
    /// Cancellation ends the wait.
    func watch(_ identity: ProcessIdentity) async -> ProcessWatch.Outcome {
        let watch = ProcessWatch(identity)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(ProcessError) {
                    try post(.watch(watch, continuation))
                } catch {
                    continuation.resume(returning: .failed)
                }
            }
        } onCancel: {
            watch.isCancelled.store(true, ordering: .sequentiallyConsistent)
            // Without a thread there is nothing to cancel.
            try? post(.cancelWatch(watch))
        }
    }
}
