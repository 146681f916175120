import Coordinators

/// Renders one picture at a time, in a process of its own that any picture may crash, hang or fill.
actor RendererCoordinator: Coordinator {
    /// A handler that runs on for so long past its deadline is stuck: its process is killed.
    static var cancellationGrace: Duration { .milliseconds(250) }
    static let mailbox = MailboxPolicy(running: 1)
    static let responders: Responders = [
        .respond(to: Thumbnail.Render.self) { _, render in try Picture(decoding: render.picture).scaled(to: render.width) }
    ]

    let context: Context

    init(_ context: Context) { self.context = context }
}
