import Coordinators

/// The actions of a person on the player's screen.
enum Player {
    /// Swipes the screen away; no coordinator is asked whether it may go.
    struct SwipeAway: ResponderMessage {}
}

/// Plays something, on a screen of its own.
///
/// When the screen is closed, the runtime asks the parent to dismiss the coordinator, which is of no use without its scene.
actor PlayerCoordinator: SceneCoordinator {
    enum Page: Codable, Sendable, Equatable {
        case playing
    }

    let context: Context
    let scene = PlayerScreen()

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Player.SwipeAway.self) { me, _ in await me.scene.close() }
    ]

    func start() async throws {
        context.show(.playing)
    }

    func paused() async { await context.reportThrottled(true) }
    func resumed() async { await context.reportThrottled(false) }
}

/// The player's screen.
final class PlayerScreen: Scene {
    private let life = ScreenLife()

    func close() async { life.end() }
    func waitUntilClosed() async { await life.ended() }
}
