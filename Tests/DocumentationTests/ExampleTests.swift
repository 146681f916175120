import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

@Suite("The articles' main examples run", .timeLimit(minutes: 1))
struct ExampleTests {
    @Test("Getting started: an item reaches the cart, and a full cart's error comes back")
    func gettingStarted() async throws {
        try await withRuntime(AppCoordinator.self, workers: .inProcess) { runtime in
            let counts = try await [
                runtime.ask(Cart.Add(sku: "tea"), at: "/catalog"), runtime.ask(Cart.Add(sku: "milk"), at: "/catalog"),
            ]
            #expect(counts == [1, 2])
            let full = await #expect(throws: Cart.Full.self) { try await runtime.ask(Cart.Add(sku: "sugar"), at: "/catalog") }
            #expect(full?.limit == 2)
        }
    }

    @Test("Writing a coordinator: a child runs to its end, and its output comes back")
    func writingACoordinator() async throws {
        try await withRuntime(FeedsCoordinator.self, workers: .inProcess) { runtime in
            let rows = try await runtime.ask(Feeds.Refresh(source: "a,b,c"))
            #expect(rows == 3)
            #expect(try await runtime.snapshot().children.isEmpty)
        }
    }

    @Test("Writing a coordinator: a serial coordinator loses no amount")
    func serialCoordinator() async throws {
        try await withRuntime(LedgerCoordinator.self, workers: .inProcess) { runtime in
            try await withThrowingDiscardingTaskGroup { group in
                for amount in 1...20 { group.addTask { try await runtime.ask(Ledger.Book(amount: amount), timeout: .seconds(20)) } }
            }
            #expect(try await runtime.ask(Ledger.Balance()) == 210)
        }
    }

    @Test("The responder chain: intercepted, answered, streamed")
    func theResponderChain() async throws {
        try await withRuntime(MarketCoordinator.self, workers: .inProcess) { runtime in
            let price = try await runtime.ask(Trader.Buy(symbol: "ACME"), at: "/trader")
            #expect(price == 42)
            #expect(try await runtime.ask(Trader.Watch(symbol: "ACME"), at: "/trader") == [40, 41])
            await #expect(throws: MarketIsClosed.self) { try await runtime.ask(Prices.Quote(symbol: "NONE"), at: "/trader") }
        }
        try await withRuntime(TickerCoordinator.self, workers: .inProcess) { runtime in
            try await runtime.ask(Prices.Publish(symbol: "ACME", price: 43))
            #expect(try await runtime.ask(Prices.Latest(symbol: "ACME")) == 43)
            await #expect(throws: MarketIsClosed.self) { try await runtime.ask(Prices.Latest(symbol: "NONE")) }
        }
    }

    @Test("The delegates example: the parent acts on an event, and an auditor gets it too")
    func delegates() async throws {
        try await withRuntime(GateCoordinator.self, workers: .inProcess) { runtime in
            #expect(try await runtime.ask(Login.Submit(name: "eve", password: "apple"), at: "/login") == false)
            try await eventually("the auditor has heard it") { try await runtime.ask(Gate.Audit()).count == 1 }
            #expect(try await runtime.ask(Login.Submit(name: "ada", password: "open sesame"), at: "/login"))
            try await eventually("the parent stops the login") { try await runtime.snapshot().children.isEmpty }
            #expect(try await runtime.ask(Gate.WhoIsIn()) == "ada")
        }
    }

    @Test("The dependencies example: an early message waits, and a test's own value takes precedence")
    func dependencies() async throws {
        try await withRuntime(BankCoordinator.self, workers: .inProcess) { runtime in
            let isIn = try await runtime.ask(Account.SignIn(name: "ada", password: "lovelace"), at: "/account")
            #expect(isIn)
            #expect(try await runtime.ask(Account.Where(), at: "/account") == "/var/lib/bank.sqlite")
        }
        let accounts = MemoryAccounts(passwords: ["eve": "apple"])
        try await withRuntime(BankCoordinator.self, dependencies: { $0.accounts = accounts }, workers: .inProcess) { runtime in
            let isIn = try await runtime.ask(Account.SignIn(name: "eve", password: "apple"), at: "/account")
            #expect(isIn)
        }
    }

    @Test("The service of the dependencies example is made and runs when it's needed")
    func service() async throws {
        try await withRuntime(RatesCoordinator.self, workers: .inProcess) { runtime in
            let rate = try await runtime.ask(Rates.Of(currency: "CHF"))
            #expect(rate == 0.94)
        }
    }

    @Test("Coming from elsewhere: the counter counts, and is started again")
    func comingFrom() async throws {
        try await withRuntime(CountersCoordinator.self, workers: .inProcess) { runtime in
            let first = try await [runtime.ask(Counter.Next()), runtime.ask(Counter.Next())]
            #expect(first == [1, 2])
            try await runtime.restart("/counter")
            #expect(try await runtime.ask(Counter.Next()) == 1)
        }
    }

    @Test("Pages and scenes: a link opens what is missing, and a flow rewinds its pages")
    func pagesAndScenes() async throws {
        try await withRuntime(MallCoordinator.self, workers: .inProcess) { runtime in
            try await follow(runtime)
            #expect(try await runtime.navigation().map(\.path) == ["/store/shelf", "/store/shelf"])
        }
        try await withRuntime(StoreTabs.self, workers: .inProcess) { runtime in
            #expect(try await runtime.snapshot().children.map(\.state) == [.active])
            try await runtime.ask(Tabs.Select(tab: .checkout))
            #expect(try await runtime.snapshot().children.map(\.state) == [.paused, .active])
            try await runtime.ask(Checkout.Continue(), at: "/checkout")
            try await runtime.ask(Checkout.Continue(), at: "/checkout")
            try await runtime.ask(Checkout.Continue(), at: "/checkout")
            try await eventually("the flow's pages are gone") {
                try await runtime.navigation().allSatisfy { $0.path == "/shelf" }
            }
        }
    }

    @Test("The workers example: the same program runs in one process")
    func workers() async throws {
        try await withRuntime(StudioCoordinator.self, workers: .inProcess) { runtime in
            let picture = try await runtime.ask(Studio.Render(scene: "dawn"))
            #expect(picture == "dawn at 1920")
        }
    }

    @Test("The migration examples: a login waits for its service, an edited contact comes back, a child stops when it has succeeded")
    func headlines() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "lovelace"])
        try await withRuntime(MemberCoordinator.self, dependencies: { $0.members = accounts }, workers: .inProcess) { runtime in
            let name = try await runtime.ask(Members.Login(username: "ada", password: "lovelace"))
            #expect(name == "ada")
        }
        try await withRuntime(ContactsCoordinator.self, workers: .inProcess) { runtime in
            let contact = try await runtime.ask(Contacts.Edit(contact: Contact(name: "Ada")))
            #expect(contact.name == "Ada, edited")
        }
        try await withRuntime(SessionsCoordinator.self, workers: .inProcess) { runtime in
            try await runtime.ask(Session.Open(isValid: true), at: "/session")
            try await eventually("the session is stopped") { try await runtime.snapshot().children.isEmpty }
        }
        try await withRuntime(HomeCoordinator.self, workers: .inProcess) { runtime in
            try await runtime.ask(Home.ShowDetails())
            #expect(try await runtime.navigation().map(\.path) == ["/details"])
        }
    }

    @Test("The migration example: registration ends, and the dashboard follows")
    func migration() async throws {
        try await withRuntime(EntryCoordinator.self, workers: .inProcess) { runtime in
            try await eventually("the registration runs") { try await runtime.snapshot().children.map(\.path) == ["/registration"] }
            try await runtime.ask(Registration.Submit(name: "Ada"), at: "/registration")
            try await eventually("the dashboard runs") { try await runtime.snapshot().children.map(\.path) == ["/dashboard"] }
        }
    }
}
