/// A descriptor of this process that a child gets under a number of its own.
public struct InheritedDescriptor: Sendable, Hashable {
    /// The number in this process.
    ///
    /// The descriptor stays open here, and still belongs to this process.
    public var source: Int32
    /// The number in the child: 3 to 255.
    public var target: Int32

    /// Gives `source` to the child as `target`.
    public init(source: Int32, target: Int32) {
        self.source = source
        self.target = target
    }
}
