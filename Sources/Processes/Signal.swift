import CProcess
import Glibc
import Synchronization

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

/// A signal that was sent to this process.
public struct ReceivedSignal: Sendable, Hashable {
    /// The signal.
    public let signal: Signal
    /// The process that sent the signal; nil: the kernel, a terminal or a timer.
    public let senderProcessID: Int32?
    /// The user whose process sent the signal.
    public let senderUserID: UInt32?

    /// Receives, from now on and for the life of the process, every signal that can be caught and would end this process.
    ///
    /// Faults of the process's own instructions and `abort` still end it. Children inherit none of this.
    ///
    /// - Parameter receive: A function that is called on a thread of its own, one signal after the other; it must not block.
    /// - Throws: `.systemCallFailed` when there is no pipe or no thread for this, or when the signals are received already.
    public static func receiveAll(_ receive: @escaping @Sendable (ReceivedSignal) -> Void) throws(ProcessError) {
        guard hasBegun.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else {
            throw ProcessError(code: .systemCallFailed, errno: 0, message: "The signals of this process are received already.")
        }
        let descriptor = coordinator_signals_receive()
        guard descriptor >= 0 else { throw ProcessError(-descriptor, action: "make a pipe for signals") }
        let inbox = Unmanaged.passRetained(Inbox(descriptor: descriptor, receive: receive))
        let result = coordinator_process_start_thread(
            { context in
                // Unsafe: the thread takes the one reference that was passed to it.
                if let context { Unmanaged<Inbox>.fromOpaque(context).takeRetainedValue().run() }
            },
            inbox.toOpaque()
        )
        guard result >= 0 else {
            inbox.release()
            throw ProcessError(-result, action: "start the thread that receives signals")
        }
    }

    private static let hasBegun = Atomic(false)

    private final class Inbox: Sendable {
        let descriptor: Int32
        let receive: @Sendable (ReceivedSignal) -> Void

        init(descriptor: Int32, receive: @escaping @Sendable (ReceivedSignal) -> Void) {
            self.descriptor = descriptor
            self.receive = receive
        }

        func run() {
            // A program that has replaced another in the same process begins with all signals blocked, and those that have come meanwhile
            // arrive here now.
            coordinator_process_unblock_signals()
            var signal = coordinator_signal()
            while coordinator_signals_next(descriptor, &signal) > 0 {
                let isSent = signal.process > 0
                receive(
                    ReceivedSignal(
                        signal: Signal(rawValue: signal.number),
                        senderProcessID: isSent ? signal.process : nil,
                        senderUserID: isSent ? signal.user : nil
                    )
                )
            }
        }
    }
}
