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
    /// A line that the program writes to its standard output or its standard error has this POSIX extended regular expression in it.
    ///
    /// The runtime has to capture the output of programs for that, as the daemon does.
    case log(String)
    /// A server on this machine answers GET with a status from 200 to 399, which is tried at each interval; a trial has this time.
    case http(port: UInt16, path: String = "/", interval: Duration = .seconds(1), timeout: Duration = .seconds(5))
    /// A server on this machine accepts connections, which is tried at each interval; a trial has this time.
    case tcp(port: UInt16, interval: Duration = .seconds(1), timeout: Duration = .seconds(5))
}

extension Readiness {
    /// The question that is asked again and again, at an interval, with the time of one trial; nil where the program itself tells.
    package var trials: (probe: HealthCheck.Probe, interval: Duration, timeout: Duration)? {
        switch self {
        case .running, .notify, .descriptor, .log: nil
        case .command(let command, let interval, let timeout): (.command(command), interval, timeout)
        case .http(let port, let path, let interval, let timeout): (.http(port: port, path: path), interval, timeout)
        case .tcp(let port, let interval, let timeout): (.tcp(port: port), interval, timeout)
        }
    }
}
