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

/// A message whose handling is not waited for.
///
/// With a correlation the ``Reply`` says whether the message was taken; without one there is no reply.
public struct Send: Sendable, Hashable {
    /// The path of the coordinator that the message is for; 0 while the message climbs towards a responder.
    public var target: NameID
    /// The path of the coordinator that sends.
    public var sender: NameID
    /// The name of the message's type.
    public var message: NameID
    /// The trace context, opaque to the link; empty when there is none.
    public var trace: Bytes
    /// The encoded message.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(target: NameID, sender: NameID, message: NameID, trace: Bytes = [], payload: Bytes = []) {
        self.target = target
        self.sender = sender
        self.message = message
        self.trace = trace
        self.payload = payload
    }
}

extension Send {
    @inline(__always)
    func encode(into batch: inout [UInt8]) {
        let numbers = (target.littleEndian, sender.littleEndian, message.littleEndian)
        // A pointer to a local tuple without padding, for the length of the call: one append instead of three.
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
            trace: try body.field(),
            payload: body.rest()
        )
    }
}

/// The answer to a frame with a correlation.
public enum Reply: Sendable, Hashable {
    /// The encoded answer, in the codec of its question.
    case success(Bytes)
    /// The reason why there is no answer.
    case failure(Failure)
}

extension Reply {
    @inline(__always)
    func encode(into batch: inout [UInt8]) {
        switch self {
        case .success(let payload):
            batch.append(0)
            batch.append(contentsOf: payload)
        case .failure(let failure):
            batch.append(1)
            failure.encode(into: &batch)
        }
    }

    @inline(__always)
    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        self = try body.flag("a reply's outcome") ? .failure(try Failure(from: &body, limits: limits)) : .success(body.rest())
    }
}

/// The reason why there is no answer.
public struct Failure: Sendable, Hashable {
    /// One of the library's stable codes, such as `unhandled`, `peerLost`, `timedOut` or `stopped`; empty when a handler threw.
    public var code: String
    /// The name of the error's type.
    public var type: String
    /// The error in words.
    public var message: String
    /// The error in the frame's codec, if there is no code; empty when the error can't be encoded.
    ///
    /// With a code, the payload is one byte 1 when the message may have been handled all the same, and empty otherwise.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(code: String, type: String = "", message: String = "", payload: Bytes = []) {
        self.code = code
        self.type = type
        self.message = message
        self.payload = payload
    }
}

extension Failure {
    @inline(never)
    func encode(into batch: inout [UInt8]) {
        batch.appendText(code)
        batch.appendText(type)
        batch.appendText(message)
        batch.append(contentsOf: payload)
    }

    @inline(never)
    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        self.init(
            code: try body.text(limit: limits.maximumNameLength),
            type: try body.text(),
            message: try body.text(),
            payload: body.rest()
        )
    }
}

/// An event of a coordinator, or a notification between two runtimes.
public struct Event: Sendable, Hashable {
    /// The path of the coordinator that the event is about; 0 means the one that the worker hosts.
    public var subject: NameID
    /// The name of the notification; 0 means an event of the coordinator.
    public var name: NameID
    /// The encoded event.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(subject: NameID, name: NameID, payload: Bytes = []) {
        self.subject = subject
        self.name = name
        self.payload = payload
    }
}

extension Event {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(subject)
        batch.appendInteger(name)
        batch.append(contentsOf: payload)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(subject: try body.integer(), name: try body.integer(), payload: body.rest())
    }
}

/// Permission to send more.
///
/// Credit adds up, but never beyond what the first credit on the link named.
public struct Credit: Sendable, Hashable {
    /// The route that the permission is for, a path or the name of a message; 0 means the whole link.
    public var target: NameID
    /// The number of messages.
    public var messages: UInt32
    /// The number of bytes.
    public var bytes: UInt64

    /// Creates the content of a frame.
    public init(target: NameID, messages: UInt32, bytes: UInt64) {
        self.target = target
        self.messages = messages
        self.bytes = bytes
    }
}

extension Credit {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.appendInteger(messages)
        batch.appendInteger(bytes)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), messages: try body.integer(), bytes: try body.integer())
    }
}

/// A part of a frame that is larger than the receiver takes at once.
///
/// The parts of one frame, in their order, contain all its bytes, header included. Other frames may stand between them, but no part of another
/// frame.
public struct Part: Sendable, Hashable {
    /// The place of a part in its frame.
    public enum Place: UInt8, Sendable, Hashable {
        /// The frame begins with this part.
        case first = 1
        /// Neither the first part nor the last.
        case middle = 2
        /// The frame is complete with this part.
        case last = 3
        /// No more parts of the frame follow, and the receiver forgets those that it has.
        case abandoned = 4
    }

    /// The place of the part.
    public var place: Place
    /// Bytes of the frame; none if it's abandoned, and one at least otherwise.
    public var bytes: Bytes

    /// Creates the content of a frame.
    public init(_ place: Place, _ bytes: Bytes = []) {
        self.place = place
        self.bytes = bytes
    }

    /// The size of a part's frame besides its bytes.
    public static let overhead = Frame.headerSize + 1
}

extension Part {
    func encode(into batch: inout [UInt8]) {
        batch.append(place.rawValue)
        batch.append(contentsOf: bytes)
    }

    init(from body: inout ByteReader) throws(WireError) {
        let offset = body.position
        let number = try body.integer(UInt8.self)
        guard let place = Place(rawValue: number) else {
            throw WireError(.malformed, "a part's place is \(number), not 1 to 4", offset: offset)
        }
        self.init(place, body.rest())
        guard bytes.isEmpty == (place == .abandoned) else {
            throw WireError(.malformed, "a part of place \(number) has \(bytes.count) bytes", offset: offset)
        }
    }
}
