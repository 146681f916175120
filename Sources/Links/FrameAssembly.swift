import WireProtocol

/// The parts of the frame that arrives in parts: one at a time on a link, and so at most the bytes of one frame.
struct FrameAssembly {
    /// The size of the largest frame that this side takes in parts; 0: it takes none.
    var limit = 0
    /// The bytes that have arrived; `nil` between two frames.
    private var bytes: [UInt8]?

    /// Adds a part.
    ///
    /// - Returns: The bytes of the frame, once it's complete.
    mutating func add(_ part: Part) throws(LinkError) -> [UInt8]? {
        guard limit > 0 else { throw LinkError(.violation, "the peer sent a part of a frame, which this side hasn't allowed") }
        switch (part.place, bytes != nil) {
        case (.first, false): bytes = []
        case (.first, true): throw LinkError(.violation, "the peer began a frame in parts within another one")
        case (.middle, false), (.last, false), (.abandoned, false):
            throw LinkError(.violation, "the peer sent a part of a frame that it hasn't begun")
        case (.middle, true), (.last, true): break
        case (.abandoned, true):
            bytes = nil
            return nil
        }
        let count = (bytes?.count ?? 0) + part.bytes.count
        guard count <= limit else { throw LinkError(.violation, "the peer sent \(count) bytes of a frame in parts, more than \(limit)") }
        bytes?.append(contentsOf: part.bytes)
        return part.place == .last ? bytes.take() : nil
    }

    /// Decodes a frame that has arrived in parts.
    static func frame(_ bytes: [UInt8], limits: FrameLimits) throws(LinkError) -> Frame {
        var limits = limits
        limits.maximumFrameSize = bytes.count
        let frames: (Frame?, Frame?)
        do throws(WireError) {
            // What is small, such as a trace, must not keep the whole frame in memory.
            var decoder = FrameDecoder(bytes, limits: limits, copiesSmallPayloads: true)
            frames = (try decoder.next(), try decoder.next())
        } catch {
            throw LinkError(.malformed, "the peer sent a frame in parts that can't be read: \(error)")
        }
        guard let frame = frames.0, frames.1 == nil else { throw LinkError(.malformed, "the peer sent more than one frame in parts") }
        guard frame.content.mayComeInParts else {
            throw LinkError(.violation, "the peer sent a frame of kind \(bytes[5]) in parts, which may only come whole")
        }
        return frame
    }
}

extension Content {
    /// Whether a frame may come in parts: what carries a value of a coordinator may, and what a runtime says may not.
    var mayComeInParts: Bool {
        switch self {
        case .ask, .send, .reply, .streamItem, .streamEnd, .finish: true
        case .event(let event): event.name == 0
        case .hello, .welcome, .ack, .cancel, .subscribe, .start, .stop, .pause, .resume, .ready, .exited, .dependency, .inspect, .ping,
            .pong, .credit, .goodbye, .defineName, .directory, .part:
            false
        }
    }
}
