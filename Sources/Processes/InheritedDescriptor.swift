/// A descriptor of ours that a child gets under a number of its own.
public struct InheritedDescriptor: Sendable, Hashable {
    /// The number here.
    ///
    /// It stays open here, and ours.
    public var source: Int32
    /// The number in the child: 3 to 255.
    public var target: Int32

    /// Gives `source` to the child as `target`.
    public init(source: Int32, target: Int32) {
        self.source = source
        self.target = target
    }
}
