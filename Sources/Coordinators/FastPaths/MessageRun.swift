import WireProtocol

/// Messages of one name and for one coordinator that have arrived one after the other.
struct MessageRun {
    /// The messages, unless they are gathered.
    var envelopes: [Envelope] = []
    var target = ""
    var isDirect = false
    /// One-way messages, which come after no others in the run.
    var gathered: GatheredMessages?

    /// Returns whether a message belongs to those before it.
    func isContinued(by envelope: Envelope, _ target: String, _ isDirect: Bool) -> Bool {
        guard gathered == nil else { return false }
        guard let last = envelopes.last else { return true }
        return self.isDirect == isDirect && self.target == target && last.body.wireName == envelope.body.wireName
    }
}

/// One-way messages of one sender that differ only in their payloads, and want no answer.
///
/// They are accepted and handled together, in one envelope: most of what a message costs is then paid once for all of them.
struct GatheredMessages {
    /// The number of messages that are gathered, so that a coordinator comes to other work after them.
    private static let limit = 64
    /// The size of the largest payload that is gathered, in bytes: it's copied next to the others.
    static let payloadLimit = 4_096

    /// The content of the first message.
    private let first: Send
    private let flags: Flags
    let codec: PayloadCodec
    /// The number of definitions of names that had come before in the same batch: later ones may give the numbers another meaning.
    private let names: Int
    let texts: (target: String, sender: String, message: String)
    private var bytes: [UInt8]
    private(set) var lengths: [Int]

    init(_ send: Send, of frame: Frame, names: Int, _ texts: (target: String, sender: String, message: String)) {
        first = Send(target: send.target, sender: send.sender, message: send.message, trace: Bytes(Array(send.trace)))
        (flags, codec, self.names, self.texts) = (frame.flags, frame.codec, names, texts)
        bytes = Array(send.payload)
        lengths = [bytes.count]
    }

    /// Adds a message; returns false if it differs from the others, or if they are enough.
    mutating func add(_ send: Send, of frame: Frame, names: Int) -> Bool {
        guard send.message == first.message, send.sender == first.sender, send.target == first.target, frame.correlation == 0,
            frame.flags == flags, frame.codec == codec, self.names == names, send.payload.count <= Self.payloadLimit,
            lengths.count < Self.limit, send.trace == first.trace
        else { return false }
        bytes.append(contentsOf: send.payload)
        lengths.append(send.payload.count)
        return true
    }

    var payload: Payload { lengths.count == 1 ? Payload(Bytes(bytes)) : Payload(Bytes(bytes), lengths: lengths) }
    var trace: Bytes { first.trace }
    var isDirect: Bool { flags.contains(.direct) }
}
