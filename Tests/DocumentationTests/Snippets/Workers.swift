import Coordinators

// snippet: message
enum Studio {
    struct Render: ResponderMessage {
        typealias Reply = String
        static let isIdempotent = true
        var scene: String
    }
}
// end

actor RendererCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration { var width = 640 }

    let context: Context
    private let width: Int

    init(_ context: Context) {
        self.context = context
        width = context.configuration.width
    }

    static let responders: Responders = [
        .respond(to: Studio.Render.self) { me, render in "\(render.scene) at \(me.width)" }
    ]

    // snippet: grace
    static let cancellationGrace = Duration.milliseconds(250)
    // end
}

actor StudioCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case renderer, spare, mailer }

    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: start
    static let supervision = SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60))

    func start() async throws {
        try await context.start(
            RendererCoordinator.self,
            as: .renderer,
            in: .worker,
            restart: .permanent,
            shutdown: .timeout(.seconds(10))
        ) { $0.width = 1_920 }
    }
    // end

    static let responders: Responders = [
        // snippet: down
        .respond(to: Studio.Render.self) { me, render in
            guard let renderer = me.context.child(.renderer, as: RendererCoordinator.self) else {
                throw CoordinatorError(.noSuchChild, "there is no renderer")
            }
            return try await renderer.ask(render, timeout: .seconds(30))
        },
        // end
        // snippet: lifecycle
        .lifecycle { me, child, change in
            switch change {
            case .crashed(let reason): print("\(child.path) crashed: \(reason)")
            case .gaveUp(let reason): me.context.fail(RendererIsLost(reason: reason))
            default: break
            }
        },
        // end
    ]

    func startSpare() async throws {
        // snippet: limits
        try await context.start(RendererCoordinator.self, as: .spare, in: .worker, restartLimits: RestartLimits(intensity: .unlimited))
        // end
    }

    func startMailer() async throws {
        // snippet: program
        let mailer = ProgramSpecification(command: ["python3", "mailer.py"], environment: ["QUEUE": "outgoing"], directory: "/srv/mailer")
        try await context.start(program: mailer, as: .mailer, restart: .transient)
        // end
    }

    var server: ProgramSpecification {
        // snippet: program that tells
        var api = ProgramSpecification(command: ["/opt/api/server"])
        api.attributes = ProcessAttributes(user: "www-data", umask: 0o027, limits: [.openFiles: .init(4_096)])
        api.environmentFiles = ["/etc/api/environment"]
        api.readiness = .notify
        api.health = HealthCheck(.http(port: 8_080, path: "/health"), interval: .seconds(15))
        api.stopSignal = .quit
        api.recycling = Recycling(age: .seconds(86_400))
        // end
        return api
    }
}

struct RendererIsLost: Error { var reason: ExitReason }

struct StudioProgram {
    // snippet: embed
    static func main() async throws {
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [RendererCoordinator.self])

        var options = CoordinatorRuntime.Options()
        options.startTimeout = .seconds(10)
        options.heartbeatTimeout = .seconds(20)
        let runtime = CoordinatorRuntime(StudioCoordinator.self, options: options)
        try await runtime.run()
    }
    // end
}

func operate(_ runtime: CoordinatorRuntime) async throws {
    // snippet: operate
    let snapshot = try await runtime.snapshot(of: "/renderer")
    print(snapshot.state, snapshot.processID ?? 0, snapshot.restarts, snapshot.lastExit?.description ?? "still in its first life")
    try await runtime.restart("/renderer")
    // end
}

extension StudioCoordinator {
    func startRestartingHangs() async throws {
        // snippet: hang
        try await context.start(RendererCoordinator.self, as: .renderer, in: .worker(hang: .restart))
        // end
    }

    func startWithSpare() async throws {
        // snippet: spares
        try await context.start(
            RendererCoordinator.self,
            as: .renderer,
            in: .worker(spares: 1, recycling: Recycling(age: .seconds(3_600), messages: 100_000), memoryLimit: 512 << 20)
        )
        // end
    }
}

func outlivingOptions() -> CoordinatorRuntime.Options {
    var options = CoordinatorRuntime.Options()
    // snippet: outliving
    options.runtimeDirectory = "/run/shop"
    options.orphanGrace = .seconds(10)
    // end
    return options
}

func laterOptions() -> CoordinatorRuntime.Options {
    var options = CoordinatorRuntime.Options()
    // snippet: later
    options.endsOrphansWhenReady = false
    // end
    return options
}

actor MapsCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: later starts
    func run() async throws {
        for city in try await Self.cities() { try await context.start(RendererCoordinator.self, as: city, in: .worker) }
        await context.endOrphans()
        for await city in Self.newCities() { try await context.start(RendererCoordinator.self, as: city, in: .worker) }
    }
    // end

    private static func cities() async throws -> [String] { ["Oslo"] }

    private static func newCities() -> AsyncStream<String> { AsyncStream { _ in } }
}
