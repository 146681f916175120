import ConcurrencySupport
import Glibc
import Logging
import Processes
import ServiceLifecycle
import Supervision
import UnixSignals
import WireProtocol

extension CoordinatorRuntime {
    /// Runs the whole `main` of a program of coordinators: as the root's process, or as a worker when a parent has spawned this process.
    ///
    /// Returns when the tree has ended; SIGTERM and SIGINT end it gracefully. In a worker it doesn't return. A child of the root that is given up
    /// ends the process; see ``Options/whenGivenUp``.
    ///
    /// - Parameters:
    ///   - root: The type of the root.
    ///   - coordinators: The other coordinators that a parent may start in a process of this executable.
    ///   - options: The settings of the runtime.
    ///   - configure: A function that sets the root's configuration.
    public static func main<Root: Coordinator>(
        _ root: Root.Type,
        coordinators: [any Coordinator.Type] = [],
        options: Options = Options(),
        configure: (inout Root.Configuration) throws -> Void = { _ in }
    ) async throws where Root.Configuration: CoordinatorConfiguration {
        FreeMemory.limitArenas()
        let options = await runWorkerIfRequested(with: options, adding: coordinators + [root])
        try await options.bootstrap?(.root)
        var configuration = Root.Configuration()
        try configure(&configuration)
        try await run(root, with: configuration, options)
    }

    /// Runs the whole `main` of a program of coordinators whose root's configuration has fields without defaults.
    ///
    /// - Parameters:
    ///   - root: The type of the root.
    ///   - coordinators: The other coordinators that a parent may start in a process of this executable.
    ///   - options: The settings of the runtime.
    ///   - configuration: The root's configuration, which is made in the root's process only.
    public static func main<Root: Coordinator>(
        _ root: Root.Type,
        coordinators: [any Coordinator.Type] = [],
        options: Options = Options(),
        with configuration: @autoclosure () throws -> Root.Configuration
    ) async throws {
        FreeMemory.limitArenas()
        let options = await runWorkerIfRequested(with: options, adding: coordinators + [root])
        try await options.bootstrap?(.root)
        try await run(root, with: configuration(), options)
    }

    /// Runs this process as a worker if a parent has spawned it as one, and ends it then; otherwise returns at once.
    ///
    /// Call this first in the `main` of a program that embeds the runtime, on the main thread: it arms the signal that ends a worker with
    /// its parent.
    ///
    /// - Parameters:
    ///   - coordinators: The coordinators that a parent may start in a process of this executable.
    ///   - options: The settings of the runtime.
    public static func runWorkerIfRequested(coordinators: [any Coordinator.Type], options: Options = Options()) async {
        _ = await runWorkerIfRequested(with: options, adding: coordinators)
    }

    /// Returns the options with the program's coordinators, in a process that isn't a worker.
    private static func runWorkerIfRequested(with options: Options, adding coordinators: [any Coordinator.Type]) async -> Options {
        var options = options
        options.coordinators += coordinators
        do throws(CoordinatorError) {
            guard let ticket = try WorkerEnvironment.takeTicket() else { return options }
            FreeMemory.limitArenas()
            try WorkerMain.arm(ticket)
            exit(await WorkerMain.run(ticket, options))
        } catch {
            Diagnostics.print(error.message)
            exit(78)
        }
    }

    // This runs off the main actor: calling actors in a loop from there is a hundred times slower.
    @concurrent
    private static func run<Root: Coordinator>(_ root: Root.Type, with configuration: Root.Configuration, _ options: Options) async throws {
        var options = options
        options.ownsProcess = true
        options.whenGivenUp = options.whenGivenUp ?? .endProcess
        let runtime = CoordinatorRuntime(root, configuration: configuration, options: options)
        let group = ServiceGroup(services: [runtime], gracefulShutdownSignals: [.sigterm, .sigint], logger: runtime.core.logger)
        do {
            try await group.run()
        } catch let error as ServiceGroupError where error.errorCode == .serviceFinishedUnexpectedly {
            // The root has finished, which ends a program of coordinators.
        } catch {
            guard let reason = runtime.core.endReason.outcome else { throw error }
            Diagnostics.print("\(error)")
            if case .exited(let code) = reason, reason.isPermanentFailure { exit(code) }
            exit(75)
        }
    }
}
