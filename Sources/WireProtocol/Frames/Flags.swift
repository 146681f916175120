/// Switches in a frame's header.
///
/// Bits without a name are kept as they came.
public struct Flags: OptionSet, Sendable, Hashable {
    /// The byte in the header.
    public let rawValue: UInt8

    /// Creates flags from the byte in the header.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The target answers or nobody does: the message doesn't climb.
    public static let direct = Flags(rawValue: 1 << 0)
    /// Reserved for an asker that wants the answer made where the frame is read.
    ///
    /// Version 1 leaves it clear and ignores it.
    public static let inlineReply = Flags(rawValue: 1 << 1)
    /// A start whose configuration is all there is: it isn't laid over the type's defaults.
    public static let complete = Flags(rawValue: 1 << 4)
    /// A stop that waits for what has been taken: within its grace it's handled before anything is cancelled.
    public static let drain = Flags(rawValue: 1 << 3)
    /// The asker takes several answers: ``Content/streamItem(_:)`` each, then ``Content/streamEnd(_:)``.
    public static let stream = Flags(rawValue: 1 << 2)
}
