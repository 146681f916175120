public import Processes

/// The settings of a console.
public struct ConsoleConfiguration: Sendable {
    /// The address at which the console listens.
    public var address: ListenAddress
    /// The runtime directory of the daemon that the console shows.
    public var runtimeDirectory: RuntimeDirectory
    /// The secret that a change must show; nil for a console that only shows.
    public var token: String?
    /// The names, besides those of this machine's loopback, under which browsers may reach the console: those of a proxy before it.
    public var allowedHosts: Set<String>
    /// Whether the console answers supervisord's XML-RPC at `/RPC2`, for `supervisorctl` and its like.
    public var answersSupervisorctl = false

    /// The largest number of connections at a time; further ones wait to be accepted.
    public var maximumConnections = 512
    /// The largest number of browsers that follow the tree at a time.
    public var maximumStreams = 32
    /// The time after which a connection without a request is closed.
    public var idleTimeout = Duration.seconds(10)

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - address: the address at which the console listens.
    ///   - runtimeDirectory: the runtime directory of the daemon.
    ///   - token: the secret that a change must show; nil for a console that only shows.
    ///   - allowedHosts: further names under which browsers may reach the console.
    public init(address: ListenAddress, runtimeDirectory: RuntimeDirectory, token: String? = nil, allowedHosts: Set<String> = []) {
        self.address = address
        self.runtimeDirectory = runtimeDirectory
        self.token = token
        self.allowedHosts = allowedHosts
    }
}
