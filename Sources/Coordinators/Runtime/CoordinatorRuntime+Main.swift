import Glibc
import Logging
import ServiceLifecycle
import UnixSignals
import WireProtocol

extension CoordinatorRuntime {
    /// The whole `main` of a program of coordinators: it's the root's process, or a worker when a parent has spawned it.
    ///
    /// Returns when the tree has ended; SIGTERM and SIGINT end it gracefully. In a worker it doesn't return.
    ///
    /// - Parameter workers: what else a parent may start in a process of this executable.
    public static func main<Root: Coordinator>(
        _ root: Root.Type,
        workers: [any Coordinator.Type] = [],
        options: Options = Options(),
        configure: (inout Root.Configuration) -> Void = { _ in }
    ) async throws where Root.Configuration: CoordinatorConfiguration {
        var options = options
        options.coordinators += workers + [root]
        await runWorkerIfRequested(options.coordinators, options: options)
        let runtime = CoordinatorRuntime(root, options: options, configure: configure)
        try await run(runtime, logger: runtime.core.logger)
    }

    /// Runs this process as a worker if a parent has spawned it as one, and ends it then; otherwise returns at once.
    ///
    /// The first line of an embedder's own `main`, on the main thread: the signal that ends a worker with its parent is armed here.
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

    // Away from the main actor: calling actors in a loop from there is a hundred times dearer.
    @concurrent
    private static func run(_ runtime: CoordinatorRuntime, logger: Logger) async throws {
        let group = ServiceGroup(services: [runtime], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        do {
            try await group.run()
        } catch let error as ServiceGroupError where error.errorCode == .serviceFinishedUnexpectedly {
            // The root has finished: that's how a program of coordinators ends.
        }
    }
}
