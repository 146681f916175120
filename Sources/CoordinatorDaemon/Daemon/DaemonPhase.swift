/// The parts of a daemon's life that others are told of, such as a service manager by sd_notify(3).
///
/// ``Daemon`` calls ``Daemon/enter(_:)`` at each change, and nowhere else.
enum DaemonPhase: Sendable {
    /// The daemon serves operators, and its tree has begun; after an upgrade again.
    case ready
    /// Another program takes the daemon's place, in the same process: MAINPID stays, and `ready` follows.
    case upgrading
    /// The tree is being stopped.
    case stopping
}
