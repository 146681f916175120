import Coordinators
import TestSupport
import Testing
import WireProtocol

@Suite("Account: the login flow", .timeLimit(minutes: 1))
struct AccountTests {
    @Test("The login takes five steps: login page, wrong password, the error on the login page, right password, the profile")
    func fiveSteps() async throws {
        try await RunningShop.with { shop in
            // Step 1.
            #expect(try await shop.ask("/shop/account", "Account.Current") == ["page": "login"])
            // Steps 2 and 3, and 4.
            let wrong: JSONValue = ["name": "ada", "password": "byron"]
            #expect(try await shop.refusal("/shop/account", "Account.Login", wrong) == "wrong name or password")
            #expect(
                try await shop.ask("/shop/account", "Account.Current") == ["page": "login", "error": "wrong name or password"]
            )
            // Steps 2 and 3, and 5.
            let ada: JSONValue = ["name": "ada", "fullName": "Ada Lovelace"]
            let right: JSONValue = ["name": "ada", "password": "lovelace"]
            #expect(try await shop.ask("/shop/account", "Account.Login", right) == ada)
            #expect(try await shop.ask("/shop/account", "Account.Current") == ["page": "profile", "user": ada])

            try await shop.ask("/shop/account", "Account.Logout")
            #expect(try await shop.ask("/shop/account", "Account.Current") == ["page": "login"])
        }
    }

    @Test("A failed login doesn't reveal whether the name or the password was wrong", arguments: ["nobody", "grace", ""])
    func strangers(_ name: String) async throws {
        try await RunningShop.with { shop in
            let login: JSONValue = ["name": .string(name), "password": "lovelace"]
            let refusal = try await shop.refusal("/shop/account", "Account.Login", login)
            #expect(refusal == "wrong name or password")
        }
    }

    @Test("A password isn't cut off at a NUL")
    func nul() async throws {
        try await RunningShop.with { shop in
            let login: JSONValue = ["name": "ada", "password": "lovelace\0and more"]
            let refusal = try await shop.refusal("/shop/account", "Account.Login", login)
            #expect(refusal == "wrong name or password")
        }
    }

    @Test("A login climbs, so that any section may ask for it, and the account section answers")
    func fromElsewhere() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop/catalog", "Account.Login", ["name": "grace", "password": "hopper"])
            let page = try await shop.ask("/shop/payment", "Account.Current")
            #expect(page["user"]?["fullName"] == "Grace Hopper")
        }
    }

    @Test("A failed attempt ends the session before it")
    func failureEndsSession() async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            _ = try await shop.refusal("/shop/account", "Account.Login", ["name": "ada", "password": ""])
            try await shop.kill("/shop/account")
            #expect(try await shop.ask("/shop/account", "Account.Current") == ["page": "login"])
        }
    }
}
