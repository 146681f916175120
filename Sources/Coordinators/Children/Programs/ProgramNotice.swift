/// One variable that a program has sent by sd_notify(3).
///
/// Follows https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html; variables that aren't here are ignored.
enum ProgramNotice: Sendable, Hashable {
    /// The program is ready.
    case ready
    /// The program has begun to stop.
    case stopping
    /// The state of the program, for operators.
    case status(String)
    /// The program lives.
    case alive
    /// The program asks to be ended as if it had been silent for too long.
    case hung
    /// The program asks for another time between signs of life.
    case watchdogChanged(Duration)
    /// The program asks for more time to become ready, from now on.
    case timeoutExtended(Duration)

    /// The length of the longest state that is kept, in characters.
    private static let maximumStatus = 256

    /// Reads a datagram: one variable a line.
    static func notices(in datagram: [UInt8]) -> [ProgramNotice] {
        String(decoding: datagram, as: UTF8.self).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? notice(parts[0], parts[1]) : nil
        }
    }

    private static func notice(_ name: Substring, _ value: Substring) -> ProgramNotice? {
        switch (name, value) {
        case ("READY", "1"): .ready
        case ("STOPPING", "1"): .stopping
        case ("STATUS", _): .status(String(value.prefix(maximumStatus)))
        case ("WATCHDOG", "1"): .alive
        case ("WATCHDOG", "trigger"): .hung
        case ("WATCHDOG_USEC", _): microseconds(value).map { .watchdogChanged($0) }
        case ("EXTEND_TIMEOUT_USEC", _): microseconds(value).map { .timeoutExtended($0) }
        default: nil
        }
    }

    /// A time; a year at most, so that no sum overflows.
    private static func microseconds(_ text: Substring) -> Duration? {
        guard let count = Int64(text), count > 0 else { return nil }
        return .microseconds(min(count, 365 * 86_400 * 1_000_000))
    }
}
