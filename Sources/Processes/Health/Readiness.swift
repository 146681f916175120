/// The way in which a program shows that it's ready.
public enum Readiness: Sendable, Hashable, Codable {
    /// The program is ready once it runs.
    case running
    /// The program says so by sd_notify(3): `READY=1` to the socket that the variable `NOTIFY_SOCKET` names.
    ///
    /// `systemd-notify --ready` works too. The kernel checks who sends: only the program's user and root can.
    case notify
    /// The program writes a newline to the descriptor of this number, 3 to 255, as s6 has it.
    ///
    /// Follows https://skarnet.org/software/s6/notifywhenup.html.
    case descriptor(Int32)
    /// A command ends with exit code 0, which is tried at each interval; a trial has this time.
    case command([String], interval: Duration = .seconds(1), timeout: Duration = .seconds(5))
}
