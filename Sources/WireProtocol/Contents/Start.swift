/// The worker is to start its coordinator.
public struct Start: Sendable, Hashable {
    /// Where the coordinator stands in the tree.
    public var path: String
    /// The name of the coordinator's type.
    public var type: String
    /// How long the start may take, in milliseconds; `UInt32.max` means as long as it takes.
    public var startTimeoutMilliseconds: UInt32
    /// The encoded configuration.
    public var configuration: Bytes

    /// Creates the content of a frame.
    public init(path: String, type: String, startTimeoutMilliseconds: UInt32, configuration: Bytes = []) {
        self.path = path
        self.type = type
        self.startTimeoutMilliseconds = startTimeoutMilliseconds
        self.configuration = configuration
    }
}
