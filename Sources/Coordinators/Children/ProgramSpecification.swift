/// The specification of any program that is supervised like a child: it's ready once it runs, and is stopped by signals.
public struct ProgramSpecification: Sendable, Hashable {
    /// The program and its arguments.
    ///
    /// A name without a slash is looked up in `PATH`.
    public var command: [String]
    /// The variables that are set on top of the parent's environment.
    public var environment: [String: String]
    /// The directory in which the program runs; `nil`: the parent's.
    public var directory: String?

    /// Creates a specification.
    public init(command: [String], environment: [String: String] = [:], directory: String? = nil) {
        self.command = command
        self.environment = environment
        self.directory = directory
    }
}
