import WireProtocol

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
