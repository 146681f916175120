import Glibc
import Processes

/// What becomes of programs when the daemon is lost.
extension Keys {
    @KeyList<ConfiguredProgram> static func daemonLoss() -> [Key<ConfiguredProgram>] {
        Key("on_daemon_loss", .choice, \.settings.onDaemonLoss, default: "`keep`, or `end` if the daemon is process 1")
            .says(
                """
                What becomes of the program when the daemon is killed or crashes: with `keep` it goes on, and the next daemon adopts it; with \
                `end` it's killed.
                """
            )
    }
}

extension ConfigurationReader {
    /// Reports a program that is to outlive a daemon which is process 1, as far as that's known: this process is, or the first process
    /// of its namespace is a daemon.
    mutating func checkDaemonLoss(_ fields: Fields, _ program: ConfiguredProgram) {
        guard program.settings.onDaemonLoss == .keep, let node = fields["on_daemon_loss"], Self.daemonIsFirstProcess else { return }
        report(
            at: node.mark,
            "`on_daemon_loss` is keep, and the daemon is process 1, with which every process of the container ends; expected end"
        )
    }

    private static let daemonIsFirstProcess = getpid() == 1 || ProcessIdentity.nameOfFirstProcess == "coordinatord"
}
