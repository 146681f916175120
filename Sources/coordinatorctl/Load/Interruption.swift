import Glibc
import Synchronization

/// Whether the user has interrupted the command, which then reports what it has.
enum Interruption {
    private static let flag = Atomic<Bool>(false)

    static var hasCome: Bool { flag.load(ordering: .relaxed) }

    /// Begins to note interruptions; a second one of the same kind ends the process.
    static func watch() {
        // The flag is made before a handler, in which nothing can be made, needs it.
        flag.store(false, ordering: .relaxed)
        for number in [SIGINT, SIGTERM] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in Interruption.flag.store(true, ordering: .relaxed) }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
            sigaction(number, &action, nil)
        }
    }
}
