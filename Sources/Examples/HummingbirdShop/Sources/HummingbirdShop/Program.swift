import Coordinators
import Foundation
import Hummingbird
import ServiceLifecycle

@main struct Program {
    static func main() async throws {
        var options = CoordinatorRuntime.Options()
        options.shutdown = .draining(.seconds(20))
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [CartCoordinator.self], options: options)

        let runtime = CoordinatorRuntime(ShopCoordinator.self, options: options)
        let port = ProcessInfo.processInfo.environment["PORT"].flatMap(Int.init) ?? 8_080
        var application = Application(
            router: shopRouter(runtime),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port))
        )
        application.beforeServerStarts { try await runtime.ready() }

        // Services are shut down in reverse: first the server, which answers what it has taken, then the tree.
        let services: [any Service] = [runtime, application]
        try await ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: application.logger).run()
    }
}
