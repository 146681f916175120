import Glibc
import Synchronization

/// Whether the user has interrupted the run, which then ends what it has started, and reports what it has.
enum Interruption {
    private static let flag = Atomic<Bool>(false)

    static var hasCome: Bool { flag.load(ordering: .relaxed) }

    static func watch() {
        // Made before the handler needs it.
        flag.store(false, ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in Interruption.flag.store(true, ordering: .relaxed) }
            sigaction(number, &action, nil)
        }
    }
}
