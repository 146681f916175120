public import Processes

/// What the process of a worker or a program has around it, beside its environment and its directory.
public struct ProcessSettings: Codable, Hashable, Sendable {
    /// The files of variables that are read at each start; a path that begins with `-` may be missing.
    public var environmentFiles: [String]

    /// Whether the process gets the daemon's variables too.
    public var inheritsEnvironment: Bool

    /// The user, the priority and the limits of the process.
    public var attributes: ProcessAttributes

    /// The rules for when the process is replaced without a failure; nil means that it isn't.
    public var recycling: RecyclingSettings?

    /// Creates settings; the process inherits what isn't given.
    public init(
        environmentFiles: [String] = [],
        inheritsEnvironment: Bool = true,
        attributes: ProcessAttributes = ProcessAttributes(),
        recycling: RecyclingSettings? = nil
    ) {
        self.environmentFiles = environmentFiles
        self.inheritsEnvironment = inheritsEnvironment
        self.attributes = attributes
        self.recycling = recycling
    }
}

/// The rules for when a process is stopped in order and started again without a failure.
public struct RecyclingSettings: Codable, Hashable, Sendable {
    /// The age at which the process is replaced, give or take a tenth; nil means never.
    public var age: Duration?

    /// The bytes of memory at which the process is replaced; nil means any number.
    public var memory: Int?

    /// The number of messages after which a worker is replaced; nil means any number.
    public var messages: Int?

    /// Creates rules.
    public init(age: Duration? = nil, memory: Int? = nil, messages: Int? = nil) {
        self.age = age
        self.memory = memory
        self.messages = messages
    }
}
