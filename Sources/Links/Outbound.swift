import ConcurrencySupport
import WireProtocol

/// The frames that wait to leave on a link, and the names that the other end knows.
struct Outbound {
    /// The number of bytes that may wait for the other side; beyond it the link is closed.
    static let limit = 256 << 20
    var batches = OutboundBatches()
    /// The frames that leave in parts, besides the batches.
    private(set) var large = LargeFrames()
    var names = OutboundNames()
    private(set) var closed: LinkError?
    /// The size of the largest frame that the other side accepts, in bytes.
    var maximumFrameSize: Int
    /// The size of the largest frame that the other side accepts in parts, in bytes; 0: it knows no parts.
    var maximumMessageSize = 0
    /// The epoch of all frames; 0: they have none.
    var epoch: UInt32 = 0
    /// The number of batches that have been handed to the connection.
    private(set) var transmissions: UInt64 = 0
    private(set) var isTransmitting = false
    #if !SLOW_PATH_ONLY
    /// The number of transmissions when a later flush was planned; `nil` when none is.
    var planned: UInt64?
    /// The time at which the latest transmission began.
    private(set) var latest = MonotonicTime(nanoseconds: 0)
    #endif

    init(maximumFrameSize: Int) { self.maximumFrameSize = maximumFrameSize }

    /// Returns the batch to send now, if none is on its way.
    mutating func beginTransmission() -> [UInt8]? { isTransmitting ? nil : continueTransmission() }

    /// Returns the batch to send after another has left; `nil` when the link is idle.
    mutating func continueTransmission() -> [UInt8]? {
        let next = closed == nil ? large.isEmpty ? batches.next() : nextWithPart() : nil
        isTransmitting = next != nil
        if next != nil {
            transmissions &+= 1
            #if !SLOW_PATH_ONLY
            latest = .now
            #endif
        }
        return next
    }

    /// Returns the batch to send next, with a part of a large frame if there is room.
    private mutating func nextWithPart() -> [UInt8]? {
        // What is sealed comes before all definitions since, and so before the frames in parts that use them.
        if batches.hasSealed, let sealed = batches.next() { return sealed }
        let urgent: [UInt8]? =
            switch large.turn {
            case .withOthers: nil
            case .withControl: batches.nextControl()
            case .alone: []
            }
        var batch = urgent ?? batches.next() ?? []
        // What is in a batch never exceeds the size of a message that the other end accepts.
        if urgent != nil || batch.count + LargeFrames.partSize <= 2 * OutboundBatches.batchSize {
            large.appendNext(to: &batch, limit: maximumFrameSize, epoch: epoch)
        } else {
            large.turn = .withControl
        }
        return batch.isEmpty ? large.isEmpty ? nil : nextWithPart() : batch
    }

    /// Queues a frame.
    ///
    /// - Parameter sender: The sender of a frame that may leave in parts.
    mutating func append(_ frame: Frame, lane: Link.Lane, _ sender: (any LargeFrameSender)?) throws(LinkError) {
        if lane == .control || !large.holdsBack(frame) {
            do throws(LinkError) {
                return try batches.append(frame, lane: lane, limit: maximumFrameSize)
            } catch {
                guard error.code == .frameTooLarge, lane != .control else { throw error }
            }
        }
        var bytes: [UInt8] = []
        FrameEncoder.append(frame, to: &bytes)
        let maximum = frame.content.mayComeInParts ? max(maximumFrameSize, maximumMessageSize) : maximumFrameSize
        guard bytes.count <= maximum else {
            let parts = frame.content.mayComeInParts && maximumMessageSize == 0 ? ", and the other side takes none in parts" : ""
            throw LinkError(.frameTooLarge, "a frame of \(bytes.count) bytes exceeds the limit of \(maximum) bytes\(parts)")
        }
        guard large.count + bytes.count <= LargeFrames.limit else {
            throw LinkError(.frameTooLarge, "a frame of \(bytes.count) bytes has no place: \(large.count) bytes of large ones wait")
        }
        let isNotice = lane == .notice
        let notices = max(batches.notices, large.notices)
        guard !isNotice || notices < OutboundBatches.noticesLimit else {
            throw LinkError(.congested, "\(notices) bytes of events wait for the other side, which doesn't read them")
        }
        large.append(frame, bytes, isWhole: bytes.count <= maximumFrameSize, isNotice: isNotice, sender)
    }

    /// Gives up a message that has not left whole.
    ///
    /// - Returns: The size of its payload; `nil` when it has left.
    mutating func abandon(_ correlation: UInt64) -> Int? { large.abandon(correlation) }

    /// Drops the frames that leave in parts, and those behind them; none may begin any more within the one whose rest is gone.
    mutating func abandonAll() { (large, maximumMessageSize) = (LargeFrames(), 0) }

    /// Whether nothing waits to leave.
    var isIdle: Bool { batches.count == 0 && large.isEmpty }

    /// Returns the number of a name, after defining it to the other end if it is new.
    mutating func intern(_ text: String) -> NameID {
        if text.isEmpty { return 0 }
        switch names.intern(text) {
        case .known(let id):
            return id
        case .new(let id):
            batches.define(DefineName(id: id, text: text))
            return id
        case .full:
            return replaceName(with: text)
        }
    }

    /// Gives a name the number of an old one that no frame in parts uses.
    private mutating func replaceName(with text: String) -> NameID {
        let waiting = large
        guard let id = names.replace(with: text, unless: { waiting.uses($0) }) else {
            // All are in use by frames that wait: these leave before, whole.
            while !large.isEmpty {
                var frames: [UInt8] = []
                large.appendNext(to: &frames, limit: maximumFrameSize, epoch: epoch)
                if !frames.isEmpty { batches.append(encoded: frames) }
            }
            return replaceName(with: text)
        }
        // Frames in the batches may use the number's former meaning, so that no frame may overtake them now.
        batches.seal()
        batches.define(DefineName(id: id, text: text))
        return id
    }

    mutating func close(_ error: LinkError) {
        closed = error
        batches = OutboundBatches()
        abandonAll()
        names = OutboundNames()
    }
}

extension FrameLimits {
    /// Returns the reason why a name must not be sent: the other side would close the link.
    func refusal(ofName text: String) -> LinkError? {
        let size = text.utf8.count
        guard size > maximumNameLength else { return nil }
        return LinkError(.nameTooLong, "a name of \(size) bytes is longer than \(maximumNameLength): '\(text.prefix(32))…'")
    }

    /// Returns the reason why the texts in a frame must not be sent.
    func refusal(ofTextsIn content: Content) -> LinkError? {
        switch content {
        case .start(let start): refusal(ofName: start.path) ?? refusal(ofName: start.type)
        case .inspect(let inspect): refusal(ofName: inspect.operation)
        case .reply(.failure(let failure)), .streamEnd(.some(let failure)): refusal(ofName: failure.code)
        case .directory(let directory): directory.rows.lazy.compactMap { refusal(ofName: $0.name) }.first
        // No `default`: a new kind of frame with such a text must be noticed here.
        case .hello, .welcome, .ask, .reply, .streamItem, .streamEnd, .send, .ack, .cancel, .event, .subscribe, .stop, .pause, .resume,
            .ready, .finish, .exited, .dependency, .ping, .pong, .credit, .goodbye, .defineName, .part:
            nil
        }
    }
}
