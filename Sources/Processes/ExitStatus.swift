/// The end of a process as the kernel reports it; see waitid(2).
public enum ExitStatus: Sendable, Hashable {
    /// The process called `exit`, or returned from `main`: 0 to 255, and 0 is success.
    case exited(code: Int32)
    /// A signal ended the process.
    case signaled(Signal, coreDumped: Bool)

    /// An unknown end: the process is gone, but other code in this program took its exit status.
    ///
    /// That happens when a program ignores SIGCHLD, or calls `wait` for any child; and to an adopted process, which has another parent, before
    /// Linux 6.15. No real exit has the code -1.
    public static let unknown = ExitStatus.exited(code: -1)

    /// Whether the process exited by itself with code 0.
    public var isSuccess: Bool { self == .exited(code: 0) }
}

extension ExitStatus: CustomStringConvertible {
    /// The end in words, such as "exited with code 1" or "ended by SIGKILL".
    public var description: String {
        switch self {
        case .unknown: "ended in an unknown way"
        case .exited(let code): "exited with code \(code)"
        case .signaled(let signal, coreDumped: false): "ended by \(signal)"
        case .signaled(let signal, coreDumped: true): "ended by \(signal), core dumped"
        }
    }
}
