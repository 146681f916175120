import Links
import Logging

extension WorkerHost {
    /// How long what a process has sent may take to be read after its end.
    static let readingTime = Duration.seconds(1)

    /// Says why this side has closed a link, which only a faulty worker makes it do.
    func logViolation(_ error: LinkError) {
        guard error.code == .violation || error.code == .malformed else { return }
        runtime.logger.warning(
            "a worker's link was closed",
            metadata: ["coordinator.path": "\(path)", "reason": "\(error.message)"]
        )
    }
}
