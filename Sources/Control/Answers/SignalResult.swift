/// The process that got a signal of an operator.
public struct SignalResult: Codable, Hashable, Sendable {
    /// The path that was named in the request.
    public var path: String
    /// The process that got the signal.
    public var pid: Int32
    /// The signal's name, such as `SIGHUP`.
    public var signal: String

    /// Creates a result.
    public init(path: String, pid: Int32, signal: String) {
        self.path = path
        self.pid = pid
        self.signal = signal
    }
}
