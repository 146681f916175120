/// Appends frames to a batch, the body of one message on a link.
///
/// There is nothing to configure and no state: a batch is an array, and a sender reuses one with `removeAll(keepingCapacity: true)`. Limits are
/// the receiver's; compare the batch's growth with the peer's `maximumFrameSize` and take an oversized frame back with `removeLast(_:)`.
public enum FrameEncoder {
    /// Appends one frame to a batch.
    ///
    /// It never fails. A frame beyond 4 GiB gets a length that every receiver refuses.
    public static func append(_ frame: Frame, to batch: inout [UInt8]) {
        let start = batch.count
        appendHeader(of: frame, to: &batch)
        switch frame.content {
        case .ask(let ask):
            let numbers = (
                ask.target.littleEndian, ask.sender.littleEndian, ask.message.littleEndian,
                UInt32(truncatingIfNeeded: ask.timeoutMicroseconds).littleEndian,
                UInt32(truncatingIfNeeded: ask.timeoutMicroseconds >> 32).littleEndian
            )
            // A pointer to a local tuple without padding, for the length of the call: one append instead of four.
            withUnsafeBytes(of: numbers) { batch.append(contentsOf: $0) }
            batch.appendField(ask.trace)
            batch.append(contentsOf: ask.payload)
        case .send(let send):
            let numbers = (send.target.littleEndian, send.sender.littleEndian, send.message.littleEndian)
            // A pointer to a local tuple without padding, for the length of the call: one append instead of three.
            withUnsafeBytes(of: numbers) { batch.append(contentsOf: $0) }
            batch.appendField(send.trace)
            batch.append(contentsOf: send.payload)
        case .reply(.success(let payload)):
            batch.append(0)
            batch.append(contentsOf: payload)
        case .streamItem(let payload), .finish(let payload):
            batch.append(contentsOf: payload)
        case .ack, .cancel, .ready:
            break
        default:
            appendBody(of: frame.content, to: &batch)
        }
        batch.patch(UInt32(clamping: batch.count - start), at: start)
    }

    @inline(__always)
    private static func appendHeader(of frame: Frame, to batch: inout [UInt8]) {
        let bytes =
            UInt64(Frame.version) << 32
            | UInt64(frame.content.kind.rawValue) << 40
            | UInt64(frame.flags.rawValue) << 48
            | UInt64(frame.codec.rawValue) << 56
        let header = (
            bytes.littleEndian,
            frame.sequence.littleEndian,
            frame.acknowledgement.littleEndian,
            (UInt64(frame.epoch) | UInt64(frame.incarnation) << 32).littleEndian,
            frame.correlation.littleEndian
        )
        // A pointer to a local tuple of five words, for the length of the call: one append instead of ten.
        withUnsafeBytes(of: header) { batch.append(contentsOf: $0) }
    }
}
