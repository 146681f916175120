import Coordinators
import Glibc

/// Does nothing but say in which process it is.
actor Idle: Coordinator {
    struct WhoAreYou: ResponderMessage { typealias Reply = Int32 }

    static let responders: [Responder<Idle>] = [.respond(to: WhoAreYou.self) { _, _ in getpid() }]

    nonisolated let context: Context<Idle>

    init(_ context: Context<Idle>, _ configuration: Configuration) { self.context = context }
}
