import Coordinators
import ServiceLifecycle

// snippet: service
protocol AccountStore: Sendable {
    func verify(_ name: String, _ password: String) async throws -> Bool
}

extension DependencyKeys {
    var accounts: DependencyKey<any AccountStore> { .init() }
}
// end

// snippet: described
struct Database: Sendable { let path: String }

extension DependencyKeys {
    var database: DescribedDependencyKey<Database, String> { .init { path in Database(path: path) } }
}
// end

struct MemoryAccounts: AccountStore {
    var passwords: [String: String]

    func verify(_ name: String, _ password: String) async throws -> Bool { passwords[name] == password }
}

enum Account {
    struct SignIn: ResponderMessage {
        typealias Reply = Bool
        var name: String
        var password: String
    }

    struct Where: ResponderMessage { typealias Reply = String }
}

actor BankCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: provide
    func start() async throws {
        try await context.start(AccountCoordinator.self, as: "account", in: .worker)
        await context.provide(\.database, describedBy: "/var/lib/bank.sqlite")
    }
    // end
}

actor AccountCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: needs
    static let responders: Responders = [
        .respond(to: Account.SignIn.self, needs: \.accounts) { me, message, accounts in
            try await accounts.verify(message.name, message.password)
        },
        .respond(to: Account.Where.self, needs: \.database) { me, message, database in
            database.path
        },
    ]
    // end

    // snippet: late
    func start() async throws {
        context.task { [context] in
            try await context.clock.sleep(for: .milliseconds(20))
            let store: any AccountStore = MemoryAccounts(passwords: ["ada": "lovelace"])
            await context.provide(\.accounts, store)
        }
    }
    // end
}

func runtimeWithAccounts() -> CoordinatorRuntime {
    // snippet: options
    var options = CoordinatorRuntime.Options()
    options.dependencies.accounts = MemoryAccounts(passwords: ["ada": "lovelace"])
    let runtime = CoordinatorRuntime(BankCoordinator.self, options: options)
    // end
    return runtime
}

// snippet: ownService
/// A client whose connection has to be kept up for as long as it's used.
actor RatesClient: Service {
    private var rates: [String: Double] = [:]

    init(address: String) async throws { rates = ["EUR": 1, "CHF": 0.94] }

    func rate(of currency: String) -> Double? { rates[currency] }

    func run() async throws { try await gracefulShutdown() }
}

extension DependencyKeys {
    var rates: ServiceDependencyKey<RatesClient, String> { .init { address in try await RatesClient(address: address) } }
}

actor RatesCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { await context.provide(\.rates, describedBy: "rates.example:5432") }

    static let responders: Responders = [
        .respond(to: Rates.Of.self, needs: \.rates) { _, message, rates in await rates.rate(of: message.currency) ?? 0 }
    ]
}
// end

enum Rates {
    struct Of: ResponderMessage {
        typealias Reply = Double
        var currency: String
    }
}
