import ConcurrencySupport
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
