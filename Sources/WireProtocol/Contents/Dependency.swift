/// A dependency of the subtree has a new value.
public struct Dependency: Sendable, Hashable {
    /// The name of the dependency.
    public var name: NameID
    /// Grows with every value, so that a late one is recognised.
    public var version: UInt64
    /// The encoded descriptor.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(name: NameID, version: UInt64, payload: Bytes = []) {
        self.name = name
        self.version = version
        self.payload = payload
    }
}
