import Coordinators
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Shop

@Suite("Sections, pages and deep links", .timeLimit(minutes: 1))
struct NavigationTests {
    @Test("A customer sees the list of the catalogue first")
    func first() async throws {
        try await RunningShop.with { shop in
            try await shop.shows("/shop", [["storefront": [:]]])
            try await shop.shows("/shop/catalog", [["list": ["promoted": []]]])
            #expect(try await shop.runtime.navigation().map(\.path) == ["/shop", "/shop/catalog"])
        }
    }

    @Test("A deep link from the root leads to a page of a section, once")
    func deepLink() async throws {
        try await RunningShop.with { shop in
            try await shop.runtime.open(Route("shop").then("catalog", CatalogPage.product(sku: "tea")))
            try await shop.shows("/shop/catalog", [["list": ["promoted": []]], ["product": ["sku": "tea"]]])
        }
    }

    @Test("A deep link to a product that doesn't exist fails with an error, and shows nothing")
    func unknownProduct() async throws {
        try await RunningShop.with { shop in
            await #expect(throws: (any Error).self) {
                try await shop.runtime.open(Route("shop").then("catalog", CatalogPage.product(sku: "unicorn")))
            }
            let actual = try await shop.pages("/shop/catalog").count
            #expect(actual == 1)
        }
    }

    @Test("Any section may ask the shop to go to another")
    func fromSection() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop/cart", "Shop.Open", ["section": ["catalog": ["page": ["product": ["sku": "tea"]]]]])
            try await eventually("the tea is shown") { try await shop.pages("/shop/catalog").last == ["product": ["sku": "tea"]] }
            try await shop.ask("/shop/cart", "Shop.Open", ["section": ["payment": [:]]])
            try await shop.shows("/shop/payment", [["checkout": [:]]])
            try await shop.ask("/shop/catalog", "Shop.Open", ["section": ["cart": [:]]])
            try await shop.shows("/shop", [["storefront": [:]], ["cart": [:]]])
        }
    }

    @Test("The login page shows the error, and the profile replaces the login page")
    func login() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop", "Shop.Open", ["section": ["account": [:]]])
            try await shop.shows("/shop/account", [["page": "login"]])
            _ = try await shop.refusal("/shop/account", "Account.Login", ["name": "ada", "password": "byron"])
            try await shop.shows("/shop/account", [["page": "login", "error": "wrong name or password"]])
            try await shop.logIn()
            let ada: JSONValue = ["name": "ada", "fullName": "Ada Lovelace"]
            try await shop.shows("/shop/account", [["page": "profile", "user": ada]])
            try await shop.ask("/shop/account", "Account.Logout")
            try await shop.shows("/shop/account", [["page": "login"]])
        }
    }

    @Test("A login from another section adds no page, and the account's page is then the profile")
    func loginFromElsewhere() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop/catalog", "Account.Login", ["name": "ada", "password": "lovelace"])
            #expect(try await shop.pages("/shop/account").isEmpty)
            try await shop.runtime.open(Route("shop").then("account", AccountPage.login(LoginPage())))
            try await shop.shows("/shop/account", [["page": "profile", "user": ["name": "ada", "fullName": "Ada Lovelace"]]])
        }
    }

    @Test("The cart is shown, and hidden, above all other pages")
    func toggle() async throws {
        try await RunningShop.with { shop in
            for _ in 0..<2 {
                #expect(try await shop.runtime.send(named: "Cart.Toggle", payload: [:], at: "/shop/catalog"))
                try await shop.shows("/shop", [["storefront": [:]], ["cart": [:]]])
                #expect(try await shop.runtime.navigation().last?.isModal == true)
                #expect(try await shop.runtime.send(named: "Cart.Toggle", payload: [:], at: "/shop/payment"))
                try await shop.shows("/shop", [["storefront": [:]]])
            }
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 0)
        }
    }

    @Test("A section that was left has ended, and is opened again when it's needed")
    func left() async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            try await shop.ask("/shop", "Shop.Open", ["section": ["account": [:]]])
            let process = try await shop.process(of: "/shop/account")
            try await shop.ask("/shop", "Shop.Open", ["section": ["catalog": ["page": ["list": ["promoted": []]]]]])
            await process.waitUntilGone()
            try await eventually("the shop has let go of it") {
                try await !shop.runtime.snapshot(of: "/shop").children.map(\.path).contains("/shop/account")
            }
            try await shop.shows("/shop/account", [])

            // From another section, which doesn't know that anything has happened.
            let page = try await shop.ask("/shop/payment", "Account.Current")
            #expect(page["page"] == "profile")
            #expect(try await shop.process(of: "/shop/account") != process)
        }
    }

    @Test("A section whose process is killed takes its pages with it; the catalogue shows its list again")
    func killed() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop", "Shop.Open", ["section": ["catalog": ["page": ["product": ["sku": "tea"]]]]])
            try await shop.ask("/shop", "Shop.Open", ["section": ["account": [:]]])
            try await shop.kill("/shop/catalog")
            try await eventually("the list is there, and the product isn't") {
                try await shop.pages("/shop/catalog").map { $0["list"] != nil } == [true]
            }
            #expect(try await shop.pages("/shop/account").count == 1)
        }
    }
}

extension RunningShop {
    /// Waits until a coordinator shows these pages: they travel up on their own.
    func shows(_ path: CoordinatorPath, _ expected: [JSONValue]) async throws {
        try await eventually("\(path) shows \(expected)") { try await pages(path) == expected }
    }

    /// A coordinator's pages, bottom first.
    func pages(_ path: CoordinatorPath) async throws -> [JSONValue] {
        try await runtime.navigation().filter { $0.path == path }.map(\.page)
    }
}
