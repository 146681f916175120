import ConcurrencySupport
import Processes

extension CoordinatorRuntime {
    /// Creates the threads, pipes and timers that this process needs now, while descriptors are available.
    ///
    /// This is for daemons, whose descriptors other programs can use up by connecting.
    package func prepare() async throws {
        try ProcessSpawner.shared.prepare()
        _ = Timers.shared
        // Each clock of Dispatch has a descriptor of its own, which is made at the first wait.
        try await Task.sleep(for: .milliseconds(1), clock: .continuous)
        try await Task.sleep(for: .milliseconds(1), clock: .suspending)
    }
}
