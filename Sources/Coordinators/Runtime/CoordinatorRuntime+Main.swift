import Glibc
import Logging
import ServiceLifecycle
import UnixSignals
import WireProtocol

extension CoordinatorRuntime {
    /// Runs the whole `main` of a program of coordinators: as the root's process, or as a worker when a parent has spawned this process.
    ///
    /// Returns when the tree has ended; SIGTERM and SIGINT end it gracefully. In a worker it doesn't return.
    ///
    /// - Parameter workers: The other coordinators that a parent may start in a process of this executable.
    public static func main<Root: Coordinator>(
        _ root: Root.Type,
        workers: [any Coordinator.Type] = [],
        options: Options = Options(),
        configure: (inout Root.Configuration) -> Void = { _ in }
    ) async throws where Root.Configuration: CoordinatorConfiguration {
        var options = options
        options.coordinators += workers + [root]
        await runWorkerIfRequested(options.coordinators, options: options)
        try await options.bootstrap?(.root)
        let runtime = CoordinatorRuntime(root, options: options, configure: configure)
        try await run(runtime, logger: runtime.core.logger)
    }

    /// Runs this process as a worker if a parent has spawned it as one, and ends it then; otherwise returns at once.
    ///
    /// Call this first in the `main` of a program that embeds the runtime, on the main thread: it arms the signal that ends a worker with
    /// its parent.
    public static func runWorkerIfRequested(_ coordinators: [any Coordinator.Type], options: Options = Options()) async {
        let ticket: Ticket?
        do throws(CoordinatorError) {
            ticket = try WorkerEnvironment.takeTicket()
            if let ticket { try WorkerMain.arm(ticket) }
        } catch {
            Diagnostics.print(error.message)
            exit(78)
        }
        guard let ticket else { return }
        var options = options
        options.coordinators += coordinators
        let code = await WorkerMain.run(ticket, options)
        exit(code)
    }

    // This runs off the main actor: calling actors in a loop from there is a hundred times slower.
    @concurrent
    private static func run(_ runtime: CoordinatorRuntime, logger: Logger) async throws {
        let group = ServiceGroup(services: [runtime], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        do {
            try await group.run()
        } catch let error as ServiceGroupError where error.errorCode == .serviceFinishedUnexpectedly {
            // The root has finished, which ends a program of coordinators.
        }
    }
}
