import CProcess
import Glibc

/// A signal of the operating system; see signal(7).
public struct Signal: RawRepresentable, Sendable, Hashable, Codable {
    /// The kernel's number of the signal.
    public let rawValue: Int32

    /// Creates the signal with a number; whether the kernel knows it shows when it is sent.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// SIGTERM: asks the process to end.
    public static let terminate = Signal(rawValue: SIGTERM)
    /// SIGKILL: ends the process; it can't be refused.
    public static let kill = Signal(rawValue: SIGKILL)
    /// SIGINT: sent by Ctrl-C.
    public static let interrupt = Signal(rawValue: SIGINT)
    /// SIGHUP: the terminal is gone; to many servers: read the configuration again.
    public static let hangup = Signal(rawValue: SIGHUP)
    /// SIGCONT: a stopped process goes on.
    public static let `continue` = Signal(rawValue: SIGCONT)
    /// SIGSTOP: stops the process until SIGCONT, can't be refused.
    public static let stop = Signal(rawValue: SIGSTOP)
    /// SIGABRT: ends the process, with a core dump where those are on.
    public static let abort = Signal(rawValue: SIGABRT)
    /// SIGQUIT: sent by Ctrl-\; a core dump by default.
    public static let quit = Signal(rawValue: SIGQUIT)
    /// SIGUSR1: its meaning is up to the program.
    public static let user1 = Signal(rawValue: SIGUSR1)
    /// SIGUSR2: its meaning is up to the program.
    public static let user2 = Signal(rawValue: SIGUSR2)

    /// The name of the manual page, such as "SIGTERM", or "signal 40" when there is none.
    public var name: String {
        guard let name = coordinator_process_signal_name(rawValue) else { return "signal \(rawValue)" }
        return "SIG" + String(cString: name)
    }
}

extension Signal {
    /// Creates the signal with a name, such as "TERM" or "SIGTERM"; nil when there is none.
    public init?(name: String) {
        let name = name.hasPrefix("SIG") ? name : "SIG" + name
        guard let signal = (Int32(1)..<32).lazy.map(Signal.init(rawValue:)).first(where: { $0.name == name }) else { return nil }
        self = signal
    }
}

extension Signal: CustomStringConvertible {
    /// The same as `name`.
    public var description: String { name }
}
