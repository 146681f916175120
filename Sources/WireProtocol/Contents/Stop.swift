/// The order to stop a coordinator and its subtree.
public struct Stop: Sendable, Hashable {
    /// The path of the coordinator; 0, the only value today, means the one that the worker hosts.
    public var target: NameID
    /// The time that the stop may take, in milliseconds; `UInt32.max` means that there is no limit.
    public var graceMilliseconds: UInt32

    /// Creates the content of a frame.
    public init(target: NameID, graceMilliseconds: UInt32) {
        self.target = target
        self.graceMilliseconds = graceMilliseconds
    }
}

extension Stop {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.appendInteger(graceMilliseconds)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), graceMilliseconds: try body.integer())
    }
}
