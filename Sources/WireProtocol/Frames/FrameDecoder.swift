/// Takes the frames out of a batch, one after the other.
///
/// Decoding is total: whatever the bytes are, ``next()`` returns a frame, the end or an error. After an error the decoder stays where it is and
/// reports the same error again; a receiver of version 1 never skips what it doesn't understand.
public struct FrameDecoder: Sendable {
    private let batch: [UInt8]
    private let limits: FrameLimits
    /// The size of the largest payload that is copied, in bytes.
    private let copyLimit: Int
    private var position = 0

    /// Creates a decoder for the body of one message of the link.
    ///
    /// - Parameters:
    ///   - batch: The body of the message.
    ///   - limits: The limits of frames and names.
    ///   - copiesSmallPayloads: Whether payloads get memory of their own, except for one that is most of the batch: that shares the batch's
    ///     memory, and keeps all of it alive. False by default: all payloads do. Those of one-way messages do in any case; see
    ///     ``ownMemory(for:of:)``.
    public init(_ batch: [UInt8], limits: FrameLimits = .default, copiesSmallPayloads: Bool = false) {
        self.batch = batch
        self.limits = limits
        copyLimit = copiesSmallPayloads ? Self.copyLimit(batch.count) : 0
    }

    /// Returns a payload of a batch in memory of its own, unless it's most of the batch.
    public static func ownMemory(for payload: Bytes, of batchSize: Int) -> Bytes {
        payload.count <= copyLimit(batchSize) ? Bytes(Array(payload)) : payload
    }

    private static func copyLimit(_ batchSize: Int) -> Int { batchSize > 4_096 ? batchSize / 8 * 7 : 0 }

    /// Returns the next frame, or `nil` at the end of the batch.
    ///
    /// - Throws: ``WireError``, whose offset counts from the beginning of the batch.
    public mutating func next() throws(WireError) -> Frame? {
        guard position < batch.count else {
            return nil
        }
        var reader = ByteReader(batch, from: position, to: batch.count)
        guard reader.remaining >= Frame.headerSize else {
            throw WireError(.truncated, "a header of \(Frame.headerSize) bytes has only \(reader.remaining)", offset: position)
        }
        let length = Int(try reader.integer(UInt32.self))
        let version = try reader.integer(UInt8.self)
        let kind = try reader.integer(UInt8.self)
        let flags = try reader.integer(UInt8.self)
        let codec = try reader.integer(UInt8.self)
        let sequence = try reader.integer(UInt64.self)
        let acknowledgement = try reader.integer(UInt64.self)
        let epoch = try reader.integer(UInt32.self)
        let incarnation = try reader.integer(UInt32.self)
        let correlation = try reader.integer(UInt64.self)
        try check(length: length, version: version)
        guard let kind = FrameKind(rawValue: kind) else {
            throw WireError(.unknownKind, "version \(Frame.version) has no kind \(kind)", offset: position + 5)
        }

        let end = position + length
        // Receivers gather one-way messages, and copy their payloads then.
        var body = ByteReader(batch, from: position + Frame.headerSize, to: end, copyLimit: kind == .send ? 0 : copyLimit)
        let isAcknowledged = flags & Flags.acknowledged.rawValue != 0
        let content = try Self.content(of: kind, isAcknowledged: isAcknowledged, from: &body, limits: limits)
        guard body.position == end else {
            throw WireError(.trailingBytes, "\(body.remaining) bytes follow the content of kind \(kind)", offset: body.position)
        }
        position = end
        return Frame(
            content,
            correlation: correlation,
            codec: PayloadCodec(rawValue: codec),
            flags: Flags(rawValue: flags),
            incarnation: incarnation,
            sequence: sequence,
            acknowledgement: acknowledgement,
            epoch: epoch
        )
    }

    @inline(__always)
    private func check(length: Int, version: UInt8) throws(WireError) {
        guard version == Frame.version else {
            throw WireError(.badVersion, "version is \(version), not \(Frame.version)", offset: position + 4)
        }
        guard length >= Frame.headerSize else {
            throw WireError(.malformed, "a frame of \(length) bytes is shorter than its header", offset: position)
        }
        guard length <= limits.maximumFrameSize else {
            throw WireError(.tooLarge, "a frame of \(length) bytes is larger than \(limits.maximumFrameSize)", offset: position)
        }
        guard length <= batch.count - position else {
            throw WireError(.truncated, "a frame of \(length) bytes has only \(batch.count - position)", offset: position)
        }
    }

    /// Reads the body of a frame; the kinds that carry traffic are inlined.
    @inline(__always)
    private static func content(
        of kind: FrameKind,
        isAcknowledged: Bool,
        from body: inout ByteReader,
        limits: FrameLimits
    ) throws(WireError) -> Content {
        switch kind {
        case .ask: .ask(isAcknowledged ? try Ask(acknowledgedFrom: &body) : try Ask(from: &body))
        case .send: .send(try Send(from: &body))
        case .reply: .reply(try Reply(from: &body, limits: limits))
        case .streamItem: .streamItem(body.rest())
        case .finish: .finish(body.rest())
        case .ack: .ack
        case .cancel: .cancel
        case .ready: .ready
        default: try controlContent(of: kind, from: &body, limits: limits)
        }
    }

    /// Reads the body of a frame that carries no traffic.
    ///
    /// A call of its own, so that the kinds that carry traffic stay small.
    @inline(never)
    private static func controlContent(of kind: FrameKind, from body: inout ByteReader, limits: FrameLimits) throws(WireError) -> Content {
        switch kind {
        case .hello: .hello(try Hello(from: &body, limits: limits))
        case .welcome: .welcome(try Welcome(from: &body, limits: limits))
        case .streamEnd: .streamEnd(try body.flag("a stream's failure") ? try Failure(from: &body, limits: limits) : nil)
        case .event: .event(try Event(from: &body))
        case .subscribe: .subscribe(try Subscribe(from: &body))
        case .start: .start(try Start(from: &body, limits: limits))
        case .stop: .stop(try Stop(from: &body))
        case .pause: .pause(try Pause(from: &body))
        case .resume: .resume(try Resume(from: &body))
        case .exited: .exited(try Exited(from: &body))
        case .dependency: .dependency(try Dependency(from: &body))
        case .inspect: .inspect(try Inspect(from: &body, limits: limits))
        case .ping: .ping(try Probe(from: &body))
        case .pong: .pong(try Probe(from: &body))
        case .credit: .credit(try Credit(from: &body))
        case .goodbye: .goodbye(try body.text())
        case .defineName: .defineName(try DefineName(from: &body, limits: limits))
        case .directory: .directory(try Directory(from: &body, limits: limits))
        case .part: .part(try Part(from: &body))
        case .ask, .reply, .streamItem, .send, .ack, .cancel, .ready, .finish:
            // `content(of:isAcknowledged:from:limits:)` reads these itself.
            throw WireError(.unknownKind, "kind \(kind) carries traffic", offset: body.position)
        }
    }
}
