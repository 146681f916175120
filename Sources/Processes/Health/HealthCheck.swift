import Glibc

/// A check that is made again and again whether a program still does its work.
public struct HealthCheck: Sendable, Hashable, Codable {
    /// The question that a check asks.
    public enum Probe: Sendable, Hashable, Codable {
        /// Does a command end with exit code 0? It runs as the program does: as its user, with its environment and directory.
        case command([String])
        /// Does a server on this machine answer GET with a status from 200 to 399?
        case http(port: UInt16, path: String = "/")
        /// Does a server on this machine accept connections?
        case tcp(port: UInt16)
    }

    /// The response to a program that has failed as many checks in a row as ``retries`` says.
    public enum Response: String, Sendable, Hashable, Codable, CaseIterable {
        /// The program is stopped and restarted, as after a failure.
        case restart
        /// The failure is logged and shown.
        case report
    }

    /// The question.
    public var probe: Probe
    /// The time between the end of a check and the next one.
    public var interval: Duration
    /// The time within which a check must succeed.
    public var timeout: Duration
    /// The number of failures in a row to which ``onFailure`` responds.
    public var retries: Int
    /// The time since the program became ready within which failures don't count; the first success ends it.
    public var startPeriod: Duration
    /// The response to too many failures.
    public var onFailure: Response

    /// Creates a check.
    public init(
        _ probe: Probe,
        interval: Duration = .seconds(10),
        timeout: Duration = .seconds(5),
        retries: Int = 3,
        startPeriod: Duration = .zero,
        onFailure: Response = .restart
    ) {
        self.probe = probe
        self.interval = interval
        self.timeout = timeout
        self.retries = max(retries, 1)
        self.startPeriod = startPeriod
        self.onFailure = onFailure
    }
}

/// A POSIX extended regular expression that lines are compared with, see regex(7).
///
/// Its memory and time are bounded by the length of a line: it has no back-references, and few and small repetition counts.
package final class LinePattern: @unchecked Sendable {
    /// The reason why a text is no pattern.
    package struct Problem: Error {
        package let message: String
    }

    private static let maximumCount = 64

    // Unsafe: it's written by the initialiser and `deinit` alone, and regexec(3) only reads it.
    private var expression = regex_t()

    /// Creates a pattern.
    package init(_ text: String) throws(Problem) {
        if let problem = Self.problem(of: text) { throw Problem(message: "the pattern `\(text)` \(problem)") }
        let status = regcomp(&expression, text, REG_EXTENDED | REG_NOSUB)
        guard status == 0 else {
            var buffer = [CChar](repeating: 0, count: 256)
            let length = regerror(status, &expression, &buffer, buffer.count)
            let reason = String(decoding: buffer.prefix(max(0, length - 1)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // A failed regcomp has freed what it had allocated.
            throw Problem(message: "the pattern `\(text)` isn't a regular expression: \(reason)")
        }
    }

    deinit { regfree(&expression) }

    /// Whether the pattern is in the line.
    package func matches(_ line: String) -> Bool { regexec(&expression, line, 0, nil, 0) == 0 }

    private static func problem(of text: String) -> String? {
        var (former, counts): (Character, Int) = (" ", 0)
        for (index, character) in zip(text.indices, text) {
            if former == "\\", ("1"..."9").contains(character) { return "has a back-reference; expected none" }
            if character == "{", former != "\\" {
                counts += 1
                let numbers = text[index...].dropFirst().prefix { $0 != "}" }.split(separator: ",").compactMap { Int($0) }
                if counts > 2 || numbers.contains(where: { $0 > maximumCount }) {
                    return "repeats too much; expected two counts at most, each up to \(maximumCount)"
                }
            }
            former = former == "\\" ? " " : character
        }
        return nil
    }
}

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
