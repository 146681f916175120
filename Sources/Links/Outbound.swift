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

/// Encoded frames that wait for the connection, in two lanes.
struct OutboundBatches {
    /// The size in bytes from which on a batch takes no more frames, so that a control frame waits for a bounded time.
    static let batchSize = 64 * 1024

    /// The number of bytes of notices that may wait.
    ///
    /// Notices cost no credit, so that without a limit they would pile up for a slow reader.
    static let noticesLimit = 4 << 20

    /// Frames that leave together.
    private struct Batch {
        var bytes: [UInt8] = []
        /// The number of bytes that are notices.
        var notices = 0
    }

    private var control: [UInt8] = []
    private var bulk: [Batch] = []
    private var firstBulk = 0
    /// The number of batches that leave before the control lane.
    private var sealedCount = 0
    /// The number of bytes of notices that wait.
    private(set) var notices = 0
    /// The number of bytes that wait.
    private(set) var count = 0

    mutating func append(_ frame: Frame, lane: Link.Lane, limit: Int) throws(LinkError) {
        switch lane {
        case .control:
            if control.count >= Self.batchSize { seal() }
            count += try Self.append(frame, to: &control, limit: limit)
        case .bulk:
            _ = try append(toBulk: frame, limit: limit)
        case .notice:
            guard notices < Self.noticesLimit else {
                throw LinkError(.congested, "\(notices) bytes of events wait for the other side, which doesn't read them")
            }
            let size = try append(toBulk: frame, limit: limit)
            bulk[bulk.count - 1].notices += size
            notices += size
        }
    }

    private mutating func append(toBulk frame: Frame, limit: Int) throws(LinkError) -> Int {
        if firstBulk == bulk.count || bulk[bulk.count - 1].bytes.count >= Self.batchSize { bulk.append(Batch()) }
        let size = try Self.append(frame, to: &bulk[bulk.count - 1].bytes, limit: limit)
        count += size
        return size
    }

    /// Appends a definition to the control lane, and so before every frame that uses it.
    mutating func define(_ definition: DefineName) {
        if control.count >= Self.batchSize { seal() }
        let former = control.count
        FrameEncoder.append(Frame(.defineName(definition)), to: &control)
        count += control.count - former
    }

    /// Keeps frames that are appended from now on behind all that wait.
    mutating func seal() {
        guard !control.isEmpty || firstBulk < bulk.count else { return }
        // Batches that were sealed before stay first: control frames since then may have given their names another meaning.
        let unsealed = Array(bulk[(firstBulk + sealedCount)...])
        bulk.removeLast(unsealed.count)
        appendSealed(Batch(bytes: control))
        for batch in unsealed { appendSealed(batch) }
        control = []
        bulk.append(Batch())
    }

    /// Appends a batch to the sealed ones, when no open batch follows them.
    ///
    /// Their order is settled, so that small ones leave together: a link that has no room for names seals once for each frame.
    private mutating func appendSealed(_ batch: Batch) {
        guard !batch.bytes.isEmpty else { return }
        guard sealedCount > 0, bulk[bulk.count - 1].bytes.count + batch.bytes.count <= Self.batchSize else {
            bulk.append(batch)
            sealedCount += 1
            return
        }
        bulk[bulk.count - 1].bytes += batch.bytes
        bulk[bulk.count - 1].notices += batch.notices
    }

    /// Whether there are batches that leave before everything else.
    var hasSealed: Bool { sealedCount > 0 }

    /// Takes out the bytes that leave next.
    mutating func next() -> [UInt8]? {
        if sealedCount > 0 {
            sealedCount -= 1
            return takeBulk()
        }
        guard !control.isEmpty else { return takeBulk() }
        var batch = control
        control = []
        count -= batch.count
        // Together they must not exceed the size of a message that the other end accepts.
        let fits = firstBulk == bulk.count || bulk[firstBulk].bytes.count + batch.count <= 2 * Self.batchSize
        if fits, let more = takeBulk() { batch.append(contentsOf: more) }
        return batch
    }

    /// Takes out the control frames alone, before bytes that wait elsewhere; `nil` when others must leave before.
    mutating func nextControl() -> [UInt8]? {
        guard sealedCount == 0 else { return nil }
        defer { (control, count) = ([], count - control.count) }
        return control
    }

    /// Appends bulk frames that are encoded already.
    mutating func append(encoded frames: [UInt8]) {
        bulk.append(Batch(bytes: frames))
        count += frames.count
    }

    private mutating func takeBulk() -> [UInt8]? {
        while firstBulk < bulk.count {
            let batch = bulk[firstBulk]
            bulk[firstBulk] = Batch()
            firstBulk += 1
            if firstBulk == bulk.count {
                bulk.removeAll(keepingCapacity: true)
                firstBulk = 0
            } else if firstBulk >= 64 {
                bulk.removeFirst(firstBulk)
                firstBulk = 0
            }
            count -= batch.bytes.count
            notices -= batch.notices
            if !batch.bytes.isEmpty { return batch.bytes }
        }
        return nil
    }

    /// - Returns: the number of bytes that were appended.
    private static func append(_ frame: Frame, to batch: inout [UInt8], limit: Int) throws(LinkError) -> Int {
        let start = batch.count
        FrameEncoder.append(frame, to: &batch)
        let size = batch.count - start
        guard size <= limit else {
            // The memory of a large frame isn't kept for the batch.
            if size > batchSize { batch = Array(batch[..<start]) } else { batch.removeLast(size) }
            throw LinkError(.frameTooLarge, "a frame of \(size) bytes exceeds the limit of \(limit) bytes")
        }
        return size
    }
}
