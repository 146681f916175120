import WireProtocol

/// Encoded frames that wait for the connection, in two lanes.
struct OutboundBatches {
    /// A batch is closed once it's at least this long (bytes), so that a control frame never waits behind more.
    static let batchSize = 64 * 1024

    /// How many bytes of notices may wait: nobody gives credit for them, so that a slow reader would have them pile up.
    static let noticesLimit = 4 << 20

    /// Frames that leave together.
    private struct Batch {
        var bytes: [UInt8] = []
        /// How many of them are notices'.
        var notices = 0
    }

    private var control: [UInt8] = []
    private var bulk: [Batch] = []
    private var firstBulk = 0
    /// How many bytes of notices wait.
    private var notices = 0
    /// How many bytes wait.
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

    /// A definition goes to the control lane, and so stands before every frame that uses it.
    mutating func define(_ definition: DefineName) {
        if control.count >= Self.batchSize { seal() }
        let former = control.count
        FrameEncoder.append(Frame(.defineName(definition)), to: &control)
        count += control.count - former
    }

    /// Nothing that is appended from now on overtakes what waits.
    mutating func seal() {
        guard !control.isEmpty || firstBulk < bulk.count else { return }
        let waiting = bulk[firstBulk...]
        // What was sealed before stays first: what has collected since may have given its names another meaning.
        let sealed = waiting.prefix(sealedCount) + [Batch(bytes: control)] + waiting.dropFirst(sealedCount)
        control = []
        bulk = sealed.filter { !$0.bytes.isEmpty } + [Batch()]
        firstBulk = 0
        sealedCount = bulk.count - 1
    }

    mutating func next() -> [UInt8]? {
        if sealedCount > 0 {
            sealedCount -= 1
            return takeBulk()
        }
        guard !control.isEmpty else { return takeBulk() }
        var batch = control
        control = []
        count -= batch.count
        // Together they must not exceed what the other end takes as one message.
        let fits = firstBulk == bulk.count || bulk[firstBulk].bytes.count + batch.count <= 2 * Self.batchSize
        if fits, let more = takeBulk() { batch.append(contentsOf: more) }
        return batch
    }

    private var sealedCount = 0

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

    /// - Returns: how many bytes it takes.
    private static func append(_ frame: Frame, to batch: inout [UInt8], limit: Int) throws(LinkError) -> Int {
        let start = batch.count
        FrameEncoder.append(frame, to: &batch)
        let size = batch.count - start
        guard size <= limit else {
            batch.removeLast(size)
            throw LinkError(.frameTooLarge, "a frame of \(size) bytes exceeds the limit of \(limit) bytes")
        }
        return size
    }
}
