/// What a receiver is willing to take.
///
/// A frame beyond a limit is an error of the whole link: there is no way to skip it safely.
public struct FrameLimits: Sendable, Hashable {
    /// The largest frame, header included, in bytes.
    public var maximumFrameSize: Int
    /// The longest name, path, type, build identifier, error code and inspection operation, in bytes of UTF-8.
    ///
    /// Texts for people (messages, reasons, an error's type) have no limit but the frame's.
    public var maximumNameLength: Int
    /// The longest secret in a ``Hello``, in bytes.
    public var maximumSecretLength: Int

    /// Creates limits.
    public init(maximumFrameSize: Int = 1 << 20, maximumNameLength: Int = 1024, maximumSecretLength: Int = 256) {
        self.maximumFrameSize = maximumFrameSize
        self.maximumNameLength = maximumNameLength
        self.maximumSecretLength = maximumSecretLength
    }

    /// What each side has to take at least: a frame with a few names of the greatest length.
    public static let smallestFrameSize = 4_096

    /// 1 MiB frames, names of 1,024 bytes.
    public static let `default` = FrameLimits()
}
