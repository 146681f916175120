/// One protocol unit on a link: a fixed header of 40 bytes and typed content.
///
/// Frames travel in batches; ``FrameEncoder`` appends them to one and ``FrameDecoder`` takes them out again. The written format, with test
/// vectors, is in the article "Format".
public struct Frame: Sendable, Hashable {
    /// What the frame says.
    public var content: Content
    /// How the payload inside the content is encoded.
    public var codec: PayloadCodec
    /// Switches that change how the content is handled.
    public var flags: Flags
    /// This frame's number in its direction of the link; 0 on a link that doesn't count.
    public var sequence: UInt64
    /// The highest number that the sender has taken from the other direction; 0 on a link that doesn't count.
    public var acknowledgement: UInt64
    /// The life of the link: it grows each time a worker dials again.
    public var epoch: UInt32
    /// The life of the coordinator that the frame is about, so that a late answer of an earlier life is recognised.
    public var incarnation: UInt32
    /// What an answer has in common with its question; 0 on frames that want no answer.
    public var correlation: UInt64

    /// Creates a frame; everything but the content has the value that most frames carry.
    public init(
        _ content: Content,
        correlation: UInt64 = 0,
        codec: PayloadCodec = .none,
        flags: Flags = [],
        incarnation: UInt32 = 0,
        sequence: UInt64 = 0,
        acknowledgement: UInt64 = 0,
        epoch: UInt32 = 0
    ) {
        self.content = content
        self.codec = codec
        self.flags = flags
        self.sequence = sequence
        self.acknowledgement = acknowledgement
        self.epoch = epoch
        self.incarnation = incarnation
        self.correlation = correlation
    }
}

extension Frame {
    /// The version of the format that this module reads and writes.
    public static let version: UInt8 = 1
    /// The size of the header that every frame begins with, in bytes.
    public static let headerSize = 40
}
