/// A message that is answered.
public struct Ask: Sendable, Hashable {
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
        payload: Bytes = []
    ) {
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
