import CProcess
import Synchronization

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
