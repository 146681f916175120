import Coordinators
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("The shop from opening to closing", .timeLimit(minutes: 1))
struct LifetimeTests {
    @Test("Each section is a process of its own, in the order in which they were opened")
    func tree() async throws {
        try await RunningShop.with { shop in
            let snapshot = try await shop.runtime.snapshot(of: "/shop")
            #expect(snapshot.type == "ShopCoordinator")
            #expect(snapshot.children.map(\.path) == sectionPaths)
            #expect(snapshot.children.allSatisfy { $0.host == .worker && $0.state == .active })
            #expect(Set(snapshot.children.map(\.processID) + [snapshot.processID, getpid()]).count == 6)
            #expect(
                try await shop.ask("/shop/cart", "Shop.Status") == ["currency": "EUR", "database": .string(shop.database)]
            )
        }
    }

    @Test("Nothing is left of a shop that has closed, except what is in its database")
    func closing() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.path + "/shop.sqlite"
        var processes: [ProcessIdentity] = []
        try await RunningShop.with(database: database) { shop in
            for path in sectionPaths + ["/shop"] { processes.append(try await shop.process(of: path)) }
            #expect(processes.filter(\.isAlive).count == 5)
            try await shop.logIn()
            try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "bread"])
        }
        #expect(processes.filter(\.isAlive).isEmpty)

        try await RunningShop.with(database: database) { shop in
            let page = try await shop.ask("/shop/account", "Account.Current")
            let cart = try await shop.ask("/shop/cart", "Cart.Contents")
            #expect(page["page"] == "profile")
            #expect(cart["count"] == 1)
        }
    }

    @Test("A database that can't be opened fails the start, and nothing is left")
    func unopenable() async throws {
        let error = await #expect(throws: (any Error).self) {
            try await RunningShop.with(database: "/nonexistent/shop.sqlite") { _ in }
        }
        #expect("\(try #require(error))".contains("unable to open database file"))
    }
}
