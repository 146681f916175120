/// A program that knows nothing about coordinators.
public struct ConfiguredProgram: Codable, Hashable, Sendable {
    /// The program and its arguments; never empty.
    ///
    /// Without a slash the program is looked up in `PATH`; no shell is involved.
    public var command: [String]

    /// Variables added to the daemon's environment.
    public var environment: [String: String]

    /// The working directory; nil means the daemon's.
    public var directory: String?

    /// Creates a specification.
    public init(command: [String], environment: [String: String] = [:], directory: String? = nil) {
        self.command = command
        self.environment = environment
        self.directory = directory
    }
}
