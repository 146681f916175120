import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing
import WireProtocol

@testable import Experience

@Suite("The login and what comes after it", .timeLimit(minutes: 1))
struct LoginTests {
    @Test(
        "A wrong password is presented and recorded, and the right one ends the login and starts the main experience",
        arguments: Where.allCases
    )
    func login(_ place: Where) async throws {
        try await withApp(place, session: Session(cachedEmail: ada.email)) { app in
            #expect(try await app.ask(App.Children()) == ["login"])
            try await eventually("the login's page is there") { try await pages(app) == ["/", "/login"] }

            try await app.ask(Login.Submit(password: "byron"), timeout: .seconds(30))
            try await eventually("the problem is presented") { try await pages(app) == ["/", "/login", "/"] }
            #expect(try await app.ask(App.Children()) == ["login"])

            try await app.ask(Login.Submit(password: "lovelace"), timeout: .seconds(30))
            try await eventually("the main experience is there") { try await app.ask(App.Children()) == ["main"] }
            try await eventually("the login's page and the problem are gone") {
                try await pages(app) == ["/", "/main", "/main/player"]
            }
            try await eventually("the log has both attempts") {
                try await app.ask(App.Log()) == ["a login failed: wrong address or password", "Ada has logged in"]
            }
            #expect(try await app.ask(Feed.Latest(), at: "/main/feed") == ["Good morning, Ada"])
        }
    }

    @Test("A user who is logged in already sees no login", arguments: Where.allCases)
    func session(_ place: Where) async throws {
        try await withApp(place, session: Session(user: ada)) { app in
            let children = try await app.ask(App.Children())
            #expect(children == ["main"])
            #expect(try await app.snapshot(of: "/main").children.map(\.path) == ["/main/feed", "/main/player"])
            await #expect(throws: NotOnScreen.self) { try await app.ask(Login.Submit(password: "lovelace"), timeout: .seconds(30)) }
        }
    }

    @Test("The address of the last user is filled in", arguments: Where.allCases)
    func cachedEmail(_ place: Where) async throws {
        for email in [ada.email, ""] {
            try await withApp(place, session: Session(cachedEmail: email)) { app in
                try await eventually("the form is there, filled in") {
                    try await app.navigation().last?.page == ["form": ["email": .string(email)]]
                }
            }
        }
    }

    @Test("The login's request to be dismissed is refused, and the login stays as it is", arguments: Where.allCases)
    func refusal(_ place: Where) async throws {
        try await withApp(place) { app in
            let before = try await app.snapshot(of: "/login")
            #expect(try await app.ask(Login.Cancel()) == false)
            let after = try await app.snapshot(of: "/login")
            #expect(after.state == .active)
            #expect(after.incarnation == before.incarnation)
        }
    }

    /// The owners of the pages on the screen, bottom first.
    private func pages(_ app: CoordinatorRuntime) async throws -> [CoordinatorPath] {
        try await app.navigation().map(\.path)
    }
}
