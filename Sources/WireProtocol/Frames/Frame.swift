/// A unit of the protocol: a header of 40 bytes and typed content.
///
/// Frames travel in batches; ``FrameEncoder`` appends them to one and ``FrameDecoder`` takes them out again. The written format, with test
/// vectors, is in the article "Format".
public struct Frame: Sendable, Hashable {
    /// The meaning of the frame.
    public var content: Content
    /// The encoding of the payload inside the content.
    public var codec: PayloadCodec
    /// Switches that change how the content is handled.
    public var flags: Flags
    /// The number of an acknowledged message among those of its origin, from 1 on.
    ///
    /// In a hello and a welcome it's the size of the largest frame that the sender takes in parts, in bytes; 0: it knows no parts. It's 0 in every
    /// other frame, and ignored there.
    public var sequence: UInt64
    /// The floor of an acknowledged message's origin: every message with a smaller number has ended there, so that receivers can forget it.
    ///
    /// 0 in every other frame, and ignored there.
    public var acknowledgement: UInt64
    /// The number of the parent's life; a frame of another life ends the link.
    ///
    /// 0 when no other process can take the parent's place. In a hello the newest number that the worker knows.
    public var epoch: UInt32
    /// The number of the coordinator's life that the frame is about; 0 where it doesn't matter.
    public var incarnation: UInt32
    /// The number that an answer has in common with its question; 0 on frames that are not answered.
    public var correlation: UInt64

    /// Creates a frame; the default of every header field is what most frames carry.
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

    /// A message that only its target may answer: it doesn't climb.
    public static let direct = Flags(rawValue: 1 << 0)
    /// An ask that is an acknowledged message: it's handled once, however often it's transmitted.
    public static let acknowledged = Flags(rawValue: 1 << 1)
    /// An ask whose sender takes several answers: ``Content/streamItem(_:)`` each, then ``Content/streamEnd(_:)``.
    public static let stream = Flags(rawValue: 1 << 2)
    /// A stop that lets the worker handle what it has taken, within the grace, before anything is cancelled.
    public static let drain = Flags(rawValue: 1 << 3)
    /// A start whose configuration is complete: it isn't laid over the type's defaults.
    public static let complete = Flags(rawValue: 1 << 4)
    /// A cancel that goes ahead of what was sent before, perhaps of its ask too; another follows behind that.
    public static let ahead = Flags(rawValue: 1 << 5)
    /// An ask that is answered when its handler has ended, though it was cancelled or its deadline has passed.
    public static let lingering = Flags(rawValue: 1 << 6)
    /// A stop with ``drain`` that also waits for the end of the coordinator's `run` hook.
    public static let run = Flags(rawValue: 1 << 7)
}

/// The encoding of a frame's payload.
///
/// Unknown values are kept as they came.
public struct PayloadCodec: RawRepresentable, Sendable, Hashable {
    /// The byte in the header.
    public let rawValue: UInt8

    /// Creates a codec from the byte in the header.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The frame has no payload.
    public static let none = PayloadCodec(rawValue: 0)
    /// One JSON text in UTF-8, between peers of different languages or builds.
    public static let json = PayloadCodec(rawValue: 1)
    /// The format of ``CompactEncoder``, between peers whose build identifiers are equal.
    public static let compact = PayloadCodec(rawValue: 2)
    /// Bytes whose meaning the sender and the receiver agree on outside this format.
    public static let opaque = PayloadCodec(rawValue: 3)
}

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
