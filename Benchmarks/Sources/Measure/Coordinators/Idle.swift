import Coordinators
import Glibc

/// Does nothing but say in which process it is.
actor Idle: Coordinator {
    struct WhoAreYou: ResponderMessage { typealias Reply = Int32 }

    static let responders: Responders = [.respond(to: WhoAreYou.self) { _, _ in getpid() }]

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }
}
