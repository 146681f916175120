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
