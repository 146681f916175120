import Coordinators
import CoordinatorsTesting
import Processes
import TestSupport
import Testing

@testable import Experience

@Suite("A scene that dies", .timeLimit(minutes: 1))
struct SceneTests {
    @Test("The player whose screen is swiped away is dismissed: no coordinator, no page, no process", arguments: Where.allCases)
    func swipedAway(_ place: Where) async throws {
        try await withApp(place, session: Session(user: ada)) { app in
            let player = try await app.snapshot(of: "/main/player")
            let process = ProcessIdentity(
                processID: try #require(player.processID),
                startTime: try #require(player.processStartTime)
            )
            #expect((process == .current) == (place == .inProcess))

            try await app.ask(Player.SwipeAway())
            try await eventually("the player is gone") {
                try await app.snapshot(of: "/main").children.map(\.path) == ["/main/feed"]
            }
            try await eventually("its page is gone") { try await app.navigation().map(\.path) == ["/", "/main"] }
            if place == .worker { await process.waitUntilGone() }
            #expect(try await app.snapshot(of: "/main").state == .active)
        }
    }
}
