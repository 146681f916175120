/// A new value of a dependency of the subtree.
public struct Dependency: Sendable, Hashable {
    /// The name of the dependency.
    public var name: NameID
    /// The number of the parent's change of its dependencies: a value with a lower number than the last one of the same name is older, and is ignored.
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

extension Dependency {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(name)
        batch.appendInteger(version)
        batch.append(contentsOf: payload)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(name: try body.integer(), version: try body.integer(), payload: body.rest())
    }
}
