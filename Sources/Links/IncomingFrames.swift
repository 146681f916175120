import ConcurrencySupport
import NNG
import Processes
public import WireProtocol

/// The frames of a batch that has arrived, taken out one after the other.
///
/// Definitions of names are for the link itself.
public struct IncomingFrames {
    private let link: Link
    private var decoder: FrameDecoder
    private let count: Int
    /// The epoch of the frames that are accepted, besides those without one; 0: all are.
    private let epoch: UInt32
    /// The number of definitions of names that were taken.
    public private(set) var definitions = 0
    /// Whether all frames were taken, or the rest can't be read.
    private(set) var areTaken = false
    /// The reason why the rest can't be read.
    private(set) var error: LinkError?

    init(_ batch: [UInt8], of link: Link, limits: FrameLimits, epoch: UInt32) {
        self.link = link
        self.epoch = epoch
        count = batch.count
        // A message that waits for its handler must not keep the whole batch alive.
        decoder = FrameDecoder(batch, limits: limits, copiesSmallPayloads: true)
    }

    /// Takes out the next frame; `nil` when there is none.
    public mutating func next() -> Frame? {
        do throws(WireError) {
            while let frame = try decoder.next() {
                if epoch != 0, frame.epoch != epoch, frame.epoch != 0 { return end(LinkError(frame.epoch, insteadOf: epoch)) }
                switch frame.content {
                case .defineName(let definition):
                    definitions += 1
                    if link.define(definition) { continue }
                    let reason = "the peer defined name \(definition.id), which is out of range, or came before its hello"
                    return end(LinkError(.malformed, reason))
                case .part(let part):
                    switch link.add(part, of: epoch) {
                    case .success(nil): continue
                    case .success(let whole): return whole
                    case .failure(let error): return end(error)
                    }
                default: return frame
                }
            }
            return end(nil)
        } catch {
            return end(LinkError(.malformed, "the peer sent a frame that can't be read: \(error)"))
        }
    }

    /// Returns the payload of a one-way message in memory of its own, unless it's most of the batch.
    ///
    /// Other payloads have memory of their own already.
    public func ownMemory(for payload: Bytes) -> Bytes { FrameDecoder.ownMemory(for: payload, of: count) }

    private mutating func end(_ error: LinkError?) -> Frame? {
        self.error = self.error ?? error
        areTaken = true
        return nil
    }
}

extension LinkError {
    /// Creates the error that a frame of another epoch is.
    init(_ epoch: UInt32, insteadOf own: UInt32) {
        self.init(.violation, "the peer sent a frame of epoch \(epoch), and the link's is \(own)")
    }
}

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

/// The peers that have connected and have not sent hello yet.
///
/// Those of one process are limited in number, and all together leave some descriptors to the rest of the process: at a limit the oldest is
/// closed when another arrives, of the process that has the most. So a stranger with many connections drops its own, and children that are
/// started by the hundred, each with one, wait for each other: if one were closed, it would dial again at once, and none would get on.
final class Arrivals: Sendable {
    /// The number of peers of one process that may be silent at a time.
    private static let maximumCount = 64
    /// The number of descriptors that silent peers leave to the rest of the process.
    private static let reservedDescriptors = 8

    private struct State {
        /// The connections of each process by number; the oldest has the smallest.
        var streams: [Int32: [UInt64: ByteStream]] = [:]
        var next: UInt64 = 0

        /// Removes and returns the oldest connection of a process that has so many.
        mutating func removeOldest(of process: Int32, atLeast count: Int) -> ByteStream? {
            guard let own = streams[process], own.count >= count, let oldest = own.keys.min() else { return nil }
            return streams[process]?.removeValue(forKey: oldest)
        }
    }

    private let state = Lock(State())

    /// Adds a peer, and returns the function that removes it, when it has sent hello or is gone.
    func add(_ stream: ByteStream) -> @Sendable () -> Void {
        let isCrowded = ResourceLimits.descriptorRoom < Self.reservedDescriptors
        // Those whose process the kernel doesn't tell count as one's.
        let process = stream.peer?.processID ?? 0
        let (number, former) = state.withLock { state -> (UInt64, ByteStream?) in
            var former = state.removeOldest(of: process, atLeast: Self.maximumCount)
            if former == nil, isCrowded, let greatest = state.streams.max(by: { $0.value.count < $1.value.count })?.key {
                former = state.removeOldest(of: greatest, atLeast: 1)
            }
            state.next += 1
            state.streams[process, default: [:]][state.next] = stream
            return (state.next, former)
        }
        former?.close()
        return { [self] in remove(number, of: process) }
    }

    private func remove(_ number: UInt64, of process: Int32) {
        state.withLock { state in
            state.streams[process]?[number] = nil
            if state.streams[process]?.isEmpty == true { state.streams[process] = nil }
        }
    }
}
