/// The order to start the worker's coordinator.
public struct Start: Sendable, Hashable {
    /// The coordinator's path in the tree.
    public var path: String
    /// The name of the coordinator's type.
    public var type: String
    /// The time that the start may take, in milliseconds; `UInt32.max` means that there is no limit.
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

extension Start {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(startTimeoutMilliseconds)
        batch.appendText(path)
        batch.appendText(type)
        batch.append(contentsOf: configuration)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let timeout = try body.integer(UInt32.self)
        let path = try body.text(limit: limits.maximumNameLength)
        let type = try body.text(limit: limits.maximumNameLength)
        self.init(path: path, type: type, startTimeoutMilliseconds: timeout, configuration: body.rest())
    }
}
