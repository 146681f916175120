/// Appends frames to a batch, the body of one message on a link.
///
/// The encoder has neither settings nor state: a batch is an array, which a sender reuses with `removeAll(keepingCapacity: true)`. Limits are
/// the receiver's: compare the batch's growth with the peer's `maximumFrameSize`, and take an oversized frame back with `removeLast(_:)`.
public enum FrameEncoder {
    /// Appends one frame to a batch.
    ///
    /// Appending never fails. A frame beyond 4 GiB gets a length that every receiver refuses.
    public static func append(_ frame: Frame, to batch: inout [UInt8]) {
        let start = batch.count
        appendHeader(of: frame, to: &batch)
        encode(frame.content, into: &batch)
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

    /// Appends the body of a frame; the kinds that carry traffic are inlined.
    @inline(__always)
    private static func encode(_ content: Content, into batch: inout [UInt8]) {
        switch content {
        case .ask(let ask): ask.encode(into: &batch)
        case .send(let send): send.encode(into: &batch)
        case .reply(let reply): reply.encode(into: &batch)
        case .streamItem(let payload), .finish(let payload): batch.append(contentsOf: payload)
        case .ack, .cancel, .ready: break
        default: encodeControl(content, into: &batch)
        }
    }

    /// Appends the body of a frame that carries no traffic.
    ///
    /// A call of its own, so that the kinds that carry traffic stay small.
    @inline(never)
    private static func encodeControl(_ content: Content, into batch: inout [UInt8]) {
        switch content {
        case .hello(let hello): hello.encode(into: &batch)
        case .welcome(let welcome): welcome.encode(into: &batch)
        case .streamEnd(nil): batch.append(0)
        case .streamEnd(let failure?):
            batch.append(1)
            failure.encode(into: &batch)
        case .event(let event): event.encode(into: &batch)
        case .subscribe(let subscribe): subscribe.encode(into: &batch)
        case .start(let start): start.encode(into: &batch)
        case .stop(let stop): stop.encode(into: &batch)
        case .pause(let pause): pause.encode(into: &batch)
        case .resume(let resume): resume.encode(into: &batch)
        case .exited(let exited): exited.encode(into: &batch)
        case .dependency(let dependency): dependency.encode(into: &batch)
        case .inspect(let inspect): inspect.encode(into: &batch)
        case .ping(let probe), .pong(let probe): probe.encode(into: &batch)
        case .credit(let credit): credit.encode(into: &batch)
        case .goodbye(let reason): batch.appendText(reason)
        case .defineName(let definition): definition.encode(into: &batch)
        case .directory(let directory): directory.encode(into: &batch)
        case .part(let part): part.encode(into: &batch)
        case .ask, .send, .reply, .streamItem, .finish, .ack, .cancel, .ready:
            break  // `encode(_:into:)` appends these itself.
        }
    }
}
