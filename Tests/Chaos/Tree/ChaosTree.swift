import ChaosHistory
import Coordinators
import Logging

/// The tree to which `Tests/Chaos/run` does its harm: its root, which plays the daemon, and its workers.
///
///     /           RootCoordinator     or a coordinatord
///     /p0 …       ParentCoordinator   a worker
///     /p0/l0 …    LeafCoordinator     a worker
///     /s0 …       SenderCoordinator   a worker; below a coordinatord it's /p0/s
@main
struct ChaosTree {
    static func main() async throws {
        let plan = Recorder.plan
        var options = CoordinatorRuntime.Options()
        options.logger.logLevel = .notice
        options.runtimeDirectory = plan.runtimeDirectory
        options.orphanGrace = .milliseconds(plan.graceMilliseconds)
        options.supervision = RootCoordinator.policy
        options.workerRestarts = TokenBucket(rate: plan.bucket, burst: plan.bucket * 2)
        // As the daemon does, for which this root stands.
        options.isSubreaper = true
        options.whenGivenUp = .report
        try await CoordinatorRuntime.main(
            RootCoordinator.self,
            coordinators: [ParentCoordinator.self, LeafCoordinator.self, SenderCoordinator.self],
            options: options
        )
    }
}
