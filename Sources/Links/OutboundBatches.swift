import WireProtocol

/// Encoded frames that wait for the connection, in two lanes.
struct OutboundBatches {
    /// A batch is closed once it's at least this long (bytes), so that a control frame never waits behind more.
    static let batchSize = 64 * 1024

    private var control: [UInt8] = []
    private var bulk: [[UInt8]] = []
    private var firstBulk = 0

    mutating func append(_ frame: Frame, lane: Link.Lane, limit: Int) throws(LinkError) {
        switch lane {
        case .control:
            if control.count >= Self.batchSize { seal() }
            try Self.append(frame, to: &control, limit: limit)
        case .bulk:
            if firstBulk == bulk.count || bulk[bulk.count - 1].count >= Self.batchSize { bulk.append([]) }
            try Self.append(frame, to: &bulk[bulk.count - 1], limit: limit)
        }
    }

    /// A definition goes to the control lane, and so stands before every frame that uses it.
    mutating func define(_ definition: DefineName) {
        if control.count >= Self.batchSize { seal() }
        FrameEncoder.append(Frame(.defineName(definition)), to: &control)
    }

    /// Nothing that is appended from now on overtakes what waits.
    mutating func seal() {
        guard !control.isEmpty || firstBulk < bulk.count else { return }
        let waiting = bulk[firstBulk...]
        // What was sealed before stays first: what has collected since may have given its names another meaning.
        let sealed = waiting.prefix(sealedCount) + [control] + waiting.dropFirst(sealedCount)
        control = []
        bulk = sealed.filter { !$0.isEmpty } + [[]]
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
        // Together they must not exceed what the other end takes as one message.
        let fits = firstBulk == bulk.count || bulk[firstBulk].count + batch.count <= 2 * Self.batchSize
        if fits, let more = takeBulk() { batch.append(contentsOf: more) }
        return batch
    }

    private var sealedCount = 0

    private mutating func takeBulk() -> [UInt8]? {
        while firstBulk < bulk.count {
            let batch = bulk[firstBulk]
            bulk[firstBulk] = []
            firstBulk += 1
            if firstBulk == bulk.count {
                bulk.removeAll(keepingCapacity: true)
                firstBulk = 0
            } else if firstBulk >= 64 {
                bulk.removeFirst(firstBulk)
                firstBulk = 0
            }
            if !batch.isEmpty { return batch }
        }
        return nil
    }

    private static func append(_ frame: Frame, to batch: inout [UInt8], limit: Int) throws(LinkError) {
        let start = batch.count
        FrameEncoder.append(frame, to: &batch)
        let size = batch.count - start
        guard size <= limit else {
            batch.removeLast(size)
            throw LinkError(.frameTooLarge, "a frame of \(size) bytes exceeds the limit of \(limit) bytes")
        }
    }
}
