import Coordinators

/// Its name differs from build to build.
private struct Whisper: ResponderMessage {}

/// Responds to a message that only its program knows.
actor SecretiveCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: Whisper.self) { _, _ in }]
}
