/// A message that is answered.
///
/// An acknowledged message is an ask with the flag ``Flags/acknowledged``: it has an ``origin`` and a ``since``, and the frame's header its
/// number and the floor of its origin.
public struct Ask: Sendable, Hashable {
    /// The random number of the runtime that has sent an acknowledged message; 0 for every other message, which has no such field.
    ///
    /// A frame has the flag ``Flags/acknowledged`` if this isn't 0, and only then.
    public var origin: UInt64
    /// The time of the first transmission by which an acknowledged message may have been handled already, in nanoseconds of the machine's
    /// monotonic clock; 0: there was none.
    public var since: UInt64
    /// The path of the coordinator that the message is for; 0 while the message climbs towards a responder.
    public var target: NameID
    /// The path of the coordinator that asks.
    public var sender: NameID
    /// The name of the message's type.
    public var message: NameID
    /// The time that is left to answer, in microseconds; 0 means that there is no deadline.
    public var timeoutMicroseconds: UInt64
    /// The trace context, opaque to the link; empty when there is none.
    public var trace: Bytes
    /// The encoded message.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(
        target: NameID,
        sender: NameID,
        message: NameID,
        timeoutMicroseconds: UInt64 = 0,
        trace: Bytes = [],
        payload: Bytes = [],
        origin: UInt64 = 0,
        since: UInt64 = 0
    ) {
        self.origin = origin
        self.since = since
        self.target = target
        self.sender = sender
        self.message = message
        self.timeoutMicroseconds = timeoutMicroseconds
        self.trace = trace
        self.payload = payload
    }
}

extension Ask {
    @inline(__always)
    func encode(into batch: inout [UInt8]) {
        if origin != 0 {
            batch.appendInteger(origin)
            batch.appendInteger(since)
        }
        let numbers = (
            target.littleEndian, sender.littleEndian, message.littleEndian,
            UInt32(truncatingIfNeeded: timeoutMicroseconds).littleEndian,
            UInt32(truncatingIfNeeded: timeoutMicroseconds >> 32).littleEndian
        )
        // A pointer to a local tuple without padding, for the length of the call: one append instead of four.
        withUnsafeBytes(of: numbers) { batch.append(contentsOf: $0) }
        batch.appendField(trace)
        batch.append(contentsOf: payload)
    }

    /// Reads the body of an acknowledged message.
    @inline(never)
    init(acknowledgedFrom body: inout ByteReader) throws(WireError) {
        let start = body.position
        let (origin, since): (UInt64, UInt64) = (try body.integer(), try body.integer())
        guard origin != 0 else { throw WireError(.malformed, "an acknowledged message has no origin", offset: start) }
        try self.init(from: &body)
        (self.origin, self.since) = (origin, since)
    }

    @inline(__always)
    init(from body: inout ByteReader) throws(WireError) {
        self.init(
            target: try body.integer(),
            sender: try body.integer(),
            message: try body.integer(),
            timeoutMicroseconds: try body.integer(),
            trace: try body.field(),
            payload: body.rest()
        )
    }
}
