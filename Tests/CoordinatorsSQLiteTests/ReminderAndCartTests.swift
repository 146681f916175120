import ConcurrencySupport
import Coordinators
import CoordinatorsSQLite
import CoordinatorsTesting
import TestSupport
import Testing

/// A trial of a customer, who is reminded three times; between the times it's a row in the store.
private actor TrialCoordinator: DurableCoordinator {
    struct Configuration: Codable { var address: String }
    struct State: Codable {
        var address: String
        var reminders = 0
    }
    enum Page: String, Codable { case trial }
    struct Remind: ResponderMessage {}
    static let idleTimeout: Duration? = .seconds(60)

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_ new: Configuration) -> (State, Page?) { (State(address: new.address), .trial) }

    func perform(_ page: Page, _ step: Step) async throws -> Change { .commit { $0.send(Remind(), after: .seconds(259_200)) } }

    static let responders: Responders = [
        .change(Remind.self) { flow, _ in
            flow.state.reminders += 1
            flow.send(Office.Remind(text: "\(flow.state.address): \(flow.state.reminders)"))
            if flow.state.reminders < 3 { flow.send(Remind(), after: .seconds(259_200)) } else { flow.finish(NoOutput()) }
        },
        .respond(to: Office.Pages.self) { me, _ in pages(of: me.context).map { "\($0)" } },
    ]
}

/// The pages as code knows them that isn't for durable coordinators alone.
private func pages<C: Coordinator>(of context: CoordinatorContext<C>) -> [C.Page] { context.pages }

/// A cart, whose content survives its process.
private actor CartCoordinator: DurableCoordinator {
    typealias State = [String: Int]
    static let idleTimeout: Duration? = .seconds(60)

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_: NoConfiguration) -> (State, Page?) { ([:], nil) }

    static let responders: Responders = [
        .change(Office.Add.self) { flow, add in
            flow.state[add.item, default: 0] += 1
            flow.send(Office.Sold(item: add.item))
            return flow.state.values.reduce(0, +)
        },
        .respond(to: Office.Contents.self) { me, _ in me.context.state },
    ]
}

/// What has been sold by all carts, counted once each.
private actor StockCoordinator: DurableCoordinator {
    typealias State = [String: Int]

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_: NoConfiguration) -> (State, Page?) { ([:], nil) }

    static let responders: Responders = [
        .change(Office.Sold.self) { flow, sold in flow.state[sold.item, default: 0] += 1 },
        .respond(to: Office.Stock.self) { me, _ in me.context.state },
    ]
}

/// A message that is answered when the disk has time.
private protocol OfficeMessage: ResponderMessage {}

extension OfficeMessage {
    static var timeout: Duration { .seconds(60) }
}

private enum Office {
    struct Remind: OfficeMessage { var text: String }
    struct Trial: OfficeMessage { var address: String }
    struct WholeTrial: ResponderMessage {
        static var timeout: Duration { .seconds(10_000_000) }
        var address: String
    }
    struct Add: OfficeMessage {
        typealias Reply = Int
        var cart, item: String
    }
    struct Contents: OfficeMessage {
        typealias Reply = [String: Int]
        var cart: String
    }
    struct Sold: OfficeMessage { var item: String }
    struct Stock: OfficeMessage { typealias Reply = [String: Int] }
    struct Pages: OfficeMessage { typealias Reply = [String] }
    struct Living: OfficeMessage { typealias Reply = [String] }
}

private final class Reminders: Sendable { let texts = Lock<[String]>([]) }

extension DependencyKeys {
    fileprivate var reminders: DependencyKey<Reminders> { .init() }
}

private actor OfficeCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws { try await context.start(StockCoordinator.self, as: "stock", restart: .transient) }

    func open(section key: String) async throws {
        if key.hasPrefix("trial") {
            try await context.resume(TrialCoordinator.self, as: key)
        } else {
            try await context.start(CartCoordinator.self, as: key, restart: .transient)
        }
    }

    static let responders: Responders = [
        .respond(to: Office.Trial.self) { me, trial in
            try await me.context.start(
                TrialCoordinator.self,
                as: "trial-\(trial.address)",
                restart: .transient,
                with: TrialCoordinator.Configuration(address: trial.address)
            )
        },
        .respond(to: Office.WholeTrial.self) { me, trial in
            _ = try await me.context.run(
                TrialCoordinator.self,
                as: "trial-\(trial.address)",
                with: TrialCoordinator.Configuration(address: trial.address)
            )
        },
        .respond(to: Office.Remind.self, needs: \.reminders) { _, remind, reminders in reminders.texts.withLock { $0.append(remind.text) }
        },
        .respond(to: Office.Living.self) { me, _ in me.context.children.map(\.path.key) },
        .forward(Office.Sold.self, to: "stock"),
        .forward(Office.Stock.self, to: "stock"),
        .forward(Office.Add.self) { $0.cart },
        .forward(Office.Contents.self) { $0.cart },
    ]
}

@Suite("A reminder and a cart", .timeLimit(.minutes(5)))
struct ReminderAndCartTests {
    private func withOffice(
        _ store: FlowStore,
        _ reminders: Reminders = Reminders(),
        time: ManualTime? = nil,
        _ body: (CoordinatorRuntime) async throws -> Void
    ) async throws {
        let dependencies = { (dependencies: inout Dependencies) in (dependencies.flows, dependencies.reminders) = (store, reminders) }
        try await withRuntime(OfficeCoordinator.self, dependencies: dependencies, time: time, body)
    }

    @Test("A trial sleeps as a row, and its timer wakes it, in this process and in later ones")
    func reminder() async throws {
        let (store, reminders, time) = (FlowStore.inMemory(), Reminders(), ManualTime())
        for life in 0..<3 {
            try await withOffice(store, reminders, time: time) { runtime in
                if life == 0 {
                    try await runtime.ask(Office.Trial(address: "ada"), at: "/")
                    #expect(try await runtime.ask(Office.Pages(), at: "/trial-ada") == ["trial"])
                }
                await time.advance(by: .seconds(3_600))
                let living = try await runtime.ask(Office.Living(), at: "/")
                #expect(living == ["stock"], "it sleeps")
                await time.advance(by: .seconds(259_200))
                #expect(reminders.texts.withLock { $0 } == (1...life + 1).map { "ada: \($0)" })
            }
        }
    }

    @Test("A trial for whose end a call waits doesn't sleep, and sleeps when nobody waits any more")
    func awaited() async throws {
        let (reminders, time) = (Reminders(), ManualTime())
        try await withOffice(.inMemory(), reminders, time: time) { runtime in
            let asks = ["ada", "bob"].map { address in Task { try await runtime.ask(Office.WholeTrial(address: address), at: "/") } }
            try await eventually("both live") { try await runtime.ask(Office.Living(), at: "/").count == 3 }
            await time.advance(by: .seconds(3_600))
            #expect(try await runtime.ask(Office.Living(), at: "/").sorted() == ["stock", "trial-ada", "trial-bob"])
            asks[1].cancel()
            await #expect(throws: CancellationError.self) { try await asks[1].value }
            await time.advance(by: .seconds(3_600))
            #expect(try await runtime.ask(Office.Living(), at: "/").sorted() == ["stock", "trial-ada"])
            for _ in 0..<3 { await time.advance(by: .seconds(259_200)) }
            try await asks[0].value
            #expect(reminders.texts.withLock { $0.count } == 6, "the other one has gone on")
        }
    }

    @Test("What was added to a cart is there after a restart, and was counted once", arguments: StoreKind.allCases)
    func cart(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let store = kind.store(in: directory.path)
            for life in 1...3 {
                try await withOffice(store) { runtime in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<40 {
                            let add = Office.Add(cart: "cart-\(number % 4)", item: number % 8 < 4 ? "book" : "pen")
                            group.addTask { _ = try await runtime.ask(add, at: "/") }
                        }
                        try await group.waitForAll()
                    }
                    for cart in 0..<4 {
                        let contents = try await runtime.ask(Office.Contents(cart: "cart-\(cart)"), at: "/")
                        #expect(contents.values.reduce(0, +) == 10 * life)
                    }
                    try await eventually("all is counted") {
                        try await runtime.ask(Office.Stock(), at: "/") == ["book": 20 * life, "pen": 20 * life]
                    }
                }
            }
        }
    }

    @Test("A cart whose process ends at any commit neither loses nor repeats what it has sold")
    func crashes() async throws {
        let runs = try await withEveryCrash { store in
            try await withOffice(store) { runtime in
                // Whoever gets no answer doesn't know: it looks, and asks again if it must.
                for number in 1...3 {
                    while (try? await runtime.ask(Office.Contents(cart: "cart-1"), at: "/"))?["book"] ?? 0 < number {
                        _ = try? await runtime.ask(Office.Add(cart: "cart-1", item: "book"), at: "/")
                    }
                }
                try await eventually("all is counted") { (try? await runtime.ask(Office.Stock(), at: "/")) == ["book": 3] }
            }
        }
        #expect(runs > 10, "\(runs) runs")
    }
}
