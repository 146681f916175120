import Coordinators

struct Add: ResponderMessage { typealias Reply = Int; var number: Int }

actor CounterCoordinator: Coordinator {
    let context: Context<CounterCoordinator>
    init(_ context: Context<CounterCoordinator>, _ configuration: Configuration) { self.context = context }
    func run() async throws {
        print("\(context.path):", try await context.ask(Add(number: 42)))
    }
}

actor AppCoordinator: Coordinator {
    let context: Context<AppCoordinator>
    private var total = 0
    init(_ context: Context<AppCoordinator>, _ configuration: Configuration) { self.context = context }
    static let responders: [Responder<AppCoordinator>] = [
        .respond(to: Add.self) { me, add in me.total += add.number; return me.total }
    ]
    func start() async throws { try await context.start(CounterCoordinator.self, as: "counter", in: .worker, restart: .transient) }
}

@main struct Program {
    static func main() async throws { try await CoordinatorRuntime.main(AppCoordinator.self, workers: [CounterCoordinator.self]) }
}
