import Coordinators

/// The messages to the feed.
enum Feed {
    /// Asks for the latest items; while the feed rests, the question waits.
    struct Latest: ResponderMessage {
        typealias Reply = [String]
        static let isIdempotent = true
    }
}

/// The feed of the main experience.
actor FeedCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Feed.Latest.self) { me, _ in
            let name = me.context.dependencies.session?.user?.name ?? "stranger"
            return ["Good morning, \(name)"]
        }
    ]

    func paused() async { await context.reportThrottled(true) }
    func resumed() async { await context.reportThrottled(false) }
}
