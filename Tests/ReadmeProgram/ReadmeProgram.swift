import Coordinators

struct Square: ResponderMessage { typealias Reply = Int; var number: Int }

actor ClientCoordinator: Coordinator {
    let context: Context<ClientCoordinator>
    init(_ context: Context<ClientCoordinator>, _ configuration: Configuration) { self.context = context }
    func run() async throws {
        print("\(context.path) received:", try await context.ask(Square(number: 12)))
    }
}

actor AppCoordinator: Coordinator {
    let context: Context<AppCoordinator>
    init(_ context: Context<AppCoordinator>, _ configuration: Configuration) { self.context = context }
    static let responders: [Responder<AppCoordinator>] = [
        .respond(to: Square.self) { _, square in square.number * square.number }
    ]
    func start() async throws { try await context.start(ClientCoordinator.self, as: "client", in: .worker, restart: .transient) }
}

@main struct Program {
    static func main() async throws { try await CoordinatorRuntime.main(AppCoordinator.self, workers: [ClientCoordinator.self]) }
}
