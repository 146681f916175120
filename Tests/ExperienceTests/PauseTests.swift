import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

@testable import Experience

@Suite("Background and foreground", .timeLimit(minutes: 1))
struct PauseTests {
    @Test("Pausing the main experience pauses all of it, and resuming resumes all of it", arguments: Where.allCases)
    func cascade(_ place: Where) async throws {
        try await withApp(place, session: Session(user: ada)) { app in
            let changed = try await app.ask(App.EnterBackground())
            #expect(changed == ["/main", "/main/feed", "/main/player"])
            #expect(try await states(app) == [.paused, .paused, .paused])
            #expect(try await app.ask(App.EnterForeground()) == [])
            #expect(try await states(app) == [.active, .active, .active])
        }
    }

    @Test("A second pause and a second resume have no effect", arguments: Where.allCases)
    func twice(_ place: Where) async throws {
        try await withApp(place, session: Session(user: ada)) { app in
            for _ in 0..<2 { #expect(try await app.ask(App.EnterBackground()).count == 3) }
            for _ in 0..<2 { #expect(try await app.ask(App.EnterForeground()).isEmpty) }
            let states = try await states(app)
            #expect(states == [.active, .active, .active])
        }
    }

    @Test("A coordinator that was paused by name stays paused when the app comes back", arguments: Where.allCases)
    func byName(_ place: Where) async throws {
        try await withApp(place, session: Session(user: ada)) { app in
            _ = try await app.pause("/main/player")
            #expect(try await app.ask(App.EnterBackground()) == ["/main", "/main/feed", "/main/player"])
            #expect(try await app.ask(App.EnterForeground()) == ["/main/player"])
            #expect(try await states(app) == [.active, .active, .paused])
            _ = try await app.resume("/main/player")
            #expect(try await states(app) == [.active, .active, .active])
        }
    }

    @Test("A message to a resting feed waits until the feed is resumed, or until its deadline", arguments: Where.allCases)
    func parked(_ place: Where) async throws {
        try await withApp(place, session: Session(user: ada)) { app in
            _ = try await app.ask(App.EnterBackground())
            let error = await #expect(throws: CoordinatorError.self) {
                try await app.ask(Feed.Latest(), at: "/main/feed", timeout: .milliseconds(100))
            }
            #expect(error?.code == .timedOut)

            async let late = app.ask(Feed.Latest(), at: "/main/feed", timeout: .seconds(20))
            _ = try await app.ask(App.EnterForeground())
            #expect(try await late == ["Good morning, Ada"])
        }
    }

    /// The states of the main experience, the feed and the player.
    private func states(_ app: CoordinatorRuntime) async throws -> [CoordinatorState] {
        let main = try await app.snapshot(of: "/main")
        return [main.state] + main.children.map(\.state)
    }
}
