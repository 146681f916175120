public import WireProtocol

/// A worker process and the coordinator at the root of its subtree.
public struct ConfiguredWorker: Codable, Hashable, Sendable {
    /// The path of the worker's executable; relative to the daemon's working directory.
    public var executable: String

    /// The name of the coordinator that the worker hosts, as its executable registers it.
    public var coordinator: String

    /// Laid over the coordinator's default configuration; nil leaves every default.
    public var configuration: JSONValue?

    /// Variables added to the daemon's environment.
    public var environment: [String: String]

    /// The working directory; nil means the daemon's.
    public var directory: String?

    /// Creates a specification.
    public init(
        executable: String,
        coordinator: String,
        configuration: JSONValue? = nil,
        environment: [String: String] = [:],
        directory: String? = nil
    ) {
        self.executable = executable
        self.coordinator = coordinator
        self.configuration = configuration
        self.environment = environment
        self.directory = directory
    }
}
