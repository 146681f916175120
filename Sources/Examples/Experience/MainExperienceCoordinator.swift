import Coordinators

/// The experience of a user who is logged in: a feed, and a player in a process of its own.
///
/// Pausing this coordinator pauses both, without any code here.
actor MainExperienceCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case feed, player }

    enum Event: Codable, Sendable, Equatable {
        case closedPlayer
    }

    enum Page: Codable, Sendable, Equatable {
        case home
    }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Player.SwipeAway.self) { me, touch in
            // One way: the player may be gone before it could answer.
            _ = try await me.context.child(PlayerCoordinator.self)?.send(touch)
        },
        // The player's screen is gone, so the player may go: that is the answer to all who ask here.
        .dismissal { _, _ in .dismiss },
        .lifecycle { me, child, change in
            if case .stopped = change, child.key(as: ChildKey.self) == .player { me.context.delegates => .closedPlayer }
        },
    ]

    func start() async throws {
        context.show(.home)
        try await context.start(FeedCoordinator.self, as: .feed)
        try await context.start(PlayerCoordinator.self, as: .player, in: .worker)
    }

    func paused() async { await context.reportThrottled(true) }
    func resumed() async { await context.reportThrottled(false) }
}
