/// The sizes that a receiver accepts.
///
/// A frame beyond a limit ends the link, because the receiver can't skip it safely.
public struct FrameLimits: Sendable, Hashable {
    /// The largest frame, header included, in bytes.
    public var maximumFrameSize: Int
    /// The longest name, path, type, build identifier, error code and inspection operation, in bytes of UTF-8.
    ///
    /// Texts for people (messages, reasons) and the type of an error are limited by the size of the frame alone: who reads them cuts them.
    public var maximumNameLength: Int
    /// The longest secret in a ``Hello``, in bytes.
    public var maximumSecretLength: Int

    /// Creates limits.
    public init(maximumFrameSize: Int = 1 << 20, maximumNameLength: Int = 1024, maximumSecretLength: Int = 256) {
        self.maximumFrameSize = maximumFrameSize
        self.maximumNameLength = maximumNameLength
        self.maximumSecretLength = maximumSecretLength
    }

    /// The frame size that each side has to accept at least: enough for a few names of the greatest length.
    public static let smallestFrameSize = 4_096

    /// The size of the largest frame that may be taken in parts, whatever is configured; as many bytes of such frames may wait to leave.
    public static let largestFrameInParts = 1 << 30

    /// Frames of 1 MiB, names of 1,024 bytes, secrets of 256 bytes.
    public static let `default` = FrameLimits()
}
