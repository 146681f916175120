import Coordinators

/// Sends events to its delegates when asked.
actor Announcer: Coordinator {
    typealias Event = Int

    /// Answered when the events have been sent, which isn't when they have arrived.
    struct Announce: ResponderMessage {
        var events: Int
    }

    static let responders: Responders = [
        .respond(to: Announce.self) { me, request in
            for event in 0..<request.events { me.context.delegates => event }
        }
    ]

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }
}
