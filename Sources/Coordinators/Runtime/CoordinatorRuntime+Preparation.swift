import ConcurrencySupport
import Processes

extension CoordinatorRuntime {
    /// Makes what this process needs of the system now, before others can use its descriptors up: threads, their pipes and timers.
    ///
    /// For daemons, which strangers connect to.
    package func prepare() async throws {
        try ProcessSpawner.shared.prepare()
        _ = Timers.shared
        // Each clock of Dispatch has a descriptor of its own, made when it's first waited for.
        try await Task.sleep(for: .milliseconds(1), clock: .continuous)
        try await Task.sleep(for: .milliseconds(1), clock: .suspending)
    }
}
