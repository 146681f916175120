import Coordinators

struct Square: ResponderMessage { typealias Reply = Int; var number: Int }

actor ClientCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }
    func run() async throws {
        print("\(context.path) received:", try await context.ask(Square(number: 12)))
    }
}

actor AppCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }
    static let responders: Responders = [.respond(to: Square.self) { _, square in square.number * square.number }]
    func start() async throws { try await context.start(ClientCoordinator.self, as: "client", in: .worker, restart: .transient) }
}

try await CoordinatorRuntime.main(AppCoordinator.self, coordinators: [ClientCoordinator.self])
