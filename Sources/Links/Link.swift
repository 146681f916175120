import ConcurrencySupport
package import NNG
public import WireProtocol

/// The connection between a parent process and a child process, which carries frames in order and in batches.
///
/// Frames that are sent while a batch is on its way leave together, as the next batch. No timer is involved, so an idle link adds no delay.
/// Frames of the control lane leave before bulk frames that are still waiting.
///
/// Frames arrive on nng's threads, one at a time and in order; a receiver must not block there.
public final class Link: Sendable {
    /// The queue in which a frame waits while a batch is on its way.
    public enum Lane: Sendable {
        /// The queue of frames that leave before every bulk frame that has not left yet.
        case control
        /// The queue of frames that leave in the order of the calls.
        case bulk
        /// The bulk queue, for frames that cost no credit; such a frame is refused while megabytes of notices wait.
        case notice
    }

    /// The functions by which a link hands frames to its owner.
    public struct Handler: Sendable {
        let framesReceived: @Sendable (Link, inout IncomingFrames) -> Void
        let closed: @Sendable (Link, LinkError) -> Void

        /// Creates a handler.
        ///
        /// - Parameters:
        ///   - framesReceived: called for the frames of a batch, in order, on one of nng's threads; it must not block. It takes one frame at
        ///     least; those that it leaves are given to the handler that the link has then.
        ///   - closed: called once, after the last frame.
        public init(
            framesReceived: @escaping @Sendable (Link, inout IncomingFrames) -> Void,
            closed: @escaping @Sendable (Link, LinkError) -> Void
        ) {
            self.framesReceived = framesReceived
            self.closed = closed
        }

        /// Creates a handler that gets each frame by itself.
        ///
        /// - Parameters:
        ///   - frameReceived: called for each frame, in order, on one of nng's threads; it must not block.
        ///   - closed: called once, after the last frame.
        public init(
            frameReceived: @escaping @Sendable (Link, Frame) -> Void,
            closed: @escaping @Sendable (Link, LinkError) -> Void
        ) {
            self.init(framesReceived: { link, frames in if let frame = frames.next() { frameReceived(link, frame) } }, closed: closed)
        }
    }

    let connection: PairConnection
    private let limits: FrameLimits
    let outbound: Lock<Outbound>
    private let inbound: Lock<Inbound>

    /// Wraps a negotiated connection.
    ///
    /// - Parameter takesNames: Whether the peer may define names. A peer that hasn't said hello may not, because names are
    ///   kept, and it's still a stranger; ``hand(over:)`` allows it.
    init(_ connection: PairConnection, limits: FrameLimits = .default, takesNames: Bool = true) {
        self.connection = connection
        self.limits = limits
        inbound = Lock(Inbound(takesNames: takesNames))
        outbound = Lock(Outbound(maximumFrameSize: limits.maximumFrameSize))
    }

    /// Returns the size of the largest message that a connection must accept for frames of `limits`.
    static func maximumMessageSize(_ limits: FrameLimits = .default) -> Int {
        limits.maximumFrameSize + 2 * OutboundBatches.batchSize
    }

    /// The process at the other end, as the kernel saw it when the connection was made.
    public var peer: PeerIdentity? {
        connection.peer.map { PeerIdentity(processID: $0.processID, userID: $0.userID) }
    }

    /// Whether the link is closed, on this side or the other.
    public var isClosed: Bool { outbound.withLock { $0.closed != nil } }

    /// Limits the frames that are sent from now on to the size that the other side accepts.
    public func limitFrames(to size: Int) {
        outbound.withLock { $0.maximumFrameSize = min(limits.maximumFrameSize, size) }
    }

    /// Lets frames that are too large for one be sent and taken in parts, if the other side knows parts.
    ///
    /// - Parameters:
    ///   - own: The size of the largest frame that this side takes in parts, as it has told the other side.
    ///   - other: That of the other side, as its hello or welcome says; 0: it knows no parts.
    public func useParts(upTo own: Int, and other: UInt64) {
        outbound.withLock { outbound in
            let hasRoom = outbound.maximumFrameSize >= FrameLimits.smallestFrameSize
            outbound.maximumMessageSize = hasRoom ? min(own, Int(clamping: other)) : 0
        }
        inbound.withLock { $0.assembly.limit = own }
    }

    /// Sends all frames from now on under the epoch of the parent's life, and closes the link when a frame of another one arrives.
    ///
    /// This is called once, during the handshake. A frame without an epoch is accepted, from peers that know of none. 0: no epoch is used.
    public func useEpoch(_ epoch: UInt32) {
        outbound.withLock { $0.epoch = epoch }
        inbound.withLock { $0.epoch = epoch }
    }

    /// The newest epoch that the worker at the other end has seen, as its hello says; 0 when it knows of none.
    public var helloEpoch: UInt32 { inbound.withLock { $0.helloEpoch } }

    /// The size of the largest frame that the worker at the other end takes in parts, as its hello says; 0 when it knows no parts.
    public var helloMessageSize: UInt64 { inbound.withLock { $0.helloMessageSize } }

    func record(hello: Frame) { inbound.withLock { ($0.helloEpoch, $0.helloMessageSize) = (hello.epoch, hello.sequence) } }

    /// The size of the largest frame that may be sent, in bytes.
    public var maximumFrameSize: Int { outbound.withLock { $0.maximumFrameSize } }

    /// The number of batches that have begun to leave; while it grows, the other side reads.
    public var transmissions: UInt64 { outbound.withLock { $0.transmissions } }

    /// Begins to receive; to be called once.
    ///
    /// If the link has been closed before, the handler is told now.
    public func start(_ handler: Handler) {
        inbound.withLock { $0.handler = handler }
        connection.start(
            onMessage: { [self] batch in receive(batch) },
            onClose: { [self] error in close(LinkError(error)) }
        )
        tellIfClosed()
    }

    /// Gives the link to another handler, from the next frame on.
    ///
    /// If the link has closed meanwhile, the handler is told now.
    public func hand(over handler: Handler) {
        inbound.withLock { inbound in
            inbound.handler = handler
            inbound.takesNames = true
        }
        tellIfClosed()
    }

    /// Queues a frame.
    ///
    /// - Throws: `LinkError` when the link is closed or the frame exceeds a limit; the frame was not queued then.
    public func send(_ frame: Frame, lane: Lane = .bulk) throws(LinkError) {
        try send(lane: lane) { _ in frame }
    }

    /// Queues a frame whose names are interned on the way, and begins to send.
    ///
    /// - Parameter frame: makes the frame, given a function that turns a text into the link's number for it; it may be called several times. The
    ///   other end receives the definition of a number before the frame that uses it.
    /// - Throws: `LinkError` when the link is closed, or when the frame or a name in it exceeds a limit; the frame was not queued then.
    public func send(lane: Lane = .bulk, _ frame: (_ name: (String) -> NameID) -> Frame) throws(LinkError) {
        try append(lane: lane, frame)
        flush()
    }

    /// Queues a frame, which ``flush()`` begins to send.
    ///
    /// Unlike ``send(lane:_:)`` it never calls the handler, so that the caller may hold a lock that the handler takes.
    ///
    /// - Parameter sender: The sender, who wants to know when the frame leaves if it leaves in parts.
    /// - Throws: As ``send(lane:_:)``.
    public func append(
        lane: Lane = .bulk,
        from sender: (any LargeFrameSender)? = nil,
        _ frame: (_ name: (String) -> NameID) -> Frame
    ) throws(LinkError) {
        let refusal = outbound.withLock { outbound -> LinkError? in
            if let error = outbound.closed { return error }
            var refusal: LinkError?
            var made: Frame
            var replacements: Int
            repeat {
                replacements = outbound.names.replacements
                made = frame { text in
                    refusal = refusal ?? limits.refusal(ofName: text)
                    return refusal == nil ? outbound.intern(text) : 0
                }
                // One name of the frame may have got the number of another.
            } while outbound.names.replacements != replacements
            if outbound.epoch != 0 { made.epoch = outbound.epoch }
            if let refusal = refusal ?? limits.refusal(ofTextsIn: made.content) { return refusal }
            do throws(LinkError) {
                try outbound.append(made, lane: lane, sender)
                return nil
            } catch {
                return error
            }
        }
        if let refusal { throw refusal }
    }

    /// Gives up a message of this side that leaves in parts, unless its last part has left: the other side forgets the others.
    ///
    /// - Returns: The size of its payload; `nil` when it has left whole.
    public func abandon(_ correlation: UInt64) -> Int? { outbound.withLock { $0.abandon(correlation) } }

    /// Drops the frames that leave in parts and have not left whole, for a link that is about to close: none of them leaves from now on.
    public func abandonAll() { outbound.withLock { $0.abandonAll() } }

    /// Begins to send the frames that were queued, unless a batch is on its way, after which they are sent.
    public func flush() {
        #if !SLOW_PATH_ONLY
        flush(inThisThread: false)
        #else
        let (batch, waiting) = outbound.withLock { ($0.beginTransmission(), $0.batches.count) }
        if let batch { transmit(batch) }
        closeIfUnread(waiting)
        #endif
    }

    /// Closes the link when too many bytes wait for the other side.
    func closeIfUnread(_ waiting: Int) {
        if waiting > Outbound.limit { close(because: "the other side doesn't read: \(waiting) bytes wait for it") }
    }

    /// Returns the text of a name that the other end has defined.
    public func text(of name: NameID) -> String? {
        name == 0 ? "" : inbound.withLock { $0.names.text(of: name) }
    }

    /// Returns the texts of three names that the other end has defined; `nil` unless it has defined all of them.
    public func texts(of names: (NameID, NameID, NameID)) -> (String, String, String)? {
        inbound.withLock { inbound in
            guard let first = inbound.names.text(of: names.0), let second = inbound.names.text(of: names.1),
                let third = inbound.names.text(of: names.2)
            else { return nil }
            return (first, second, third)
        }
    }

    /// Closes the link at once.
    ///
    /// Frames that have not left are dropped; the handler is told.
    public func close() {
        close(LinkError(.closed, "the link was closed on this side"))
    }

    /// Closes the link at once, because the other side has broken a rule.
    public func close(because reason: String) {
        close(LinkError(.violation, reason))
    }

    func transmit(_ batch: [UInt8]) {
        connection.transmit(batch) { [self] in transmitted($0) }
    }

    func transmitted(_ error: NNGError?) {
        if let error {
            close(LinkError(error))
        } else if let next = outbound.withLock({ $0.continueTransmission() }) {
            transmit(next)
        }
    }

    private func receive(_ batch: [UInt8]) {
        var frames = IncomingFrames(batch, of: self, limits: limits, epoch: inbound.withLock { $0.epoch })
        // A handshake hands the link over in the middle of a batch.
        while !frames.areTaken, let handler = inbound.withLock({ $0.handler }) { handler.framesReceived(self, &frames) }
        if let error = frames.error { close(error) }
    }

    /// Takes the definition of a name.
    ///
    /// - Returns: False when its number is out of order, or the peer hasn't said hello.
    func define(_ definition: DefineName) -> Bool { inbound.withLock { $0.takesNames && $0.names.define(definition) } }

    /// Takes a part of a frame.
    ///
    /// - Returns: The frame, once it's complete.
    func add(_ part: Part, of epoch: UInt32) -> Result<Frame?, LinkError> {
        Result { () throws(LinkError) -> Frame? in
            let bytes = try inbound.withLock { inbound throws(LinkError) in try inbound.assembly.add(part) }
            guard let bytes else { return nil }
            let frame = try FrameAssembly.frame(bytes, limits: limits)
            guard epoch == 0 || frame.epoch == epoch || frame.epoch == 0 else { throw LinkError(frame.epoch, insteadOf: epoch) }
            return frame
        }
    }

    private func close(_ error: LinkError) {
        let isFirst = outbound.withLock { outbound in
            guard outbound.closed == nil else { return false }
            outbound.close(error)
            return true
        }
        guard isFirst else { return }
        connection.close()
        takeHandler()?.closed(self, error)
    }

    /// Tells a handler that was set after the link had closed.
    private func tellIfClosed() {
        if let error = outbound.withLock({ $0.closed }) { takeHandler()?.closed(self, error) }
    }

    private func takeHandler() -> Handler? {
        inbound.withLock { inbound in
            let handler = inbound.handler
            inbound.handler = nil
            return handler
        }
    }

    private struct Inbound {
        var takesNames: Bool
        var handler: Handler?
        var names = InboundNames()
        var epoch: UInt32 = 0
        var helloEpoch: UInt32 = 0
        var helloMessageSize: UInt64 = 0
        var assembly = FrameAssembly()
    }
}

extension Link {
    /// The time that two processes may take to exchange hello and welcome.
    ///
    /// It is more than a busy machine needs: a process that gives up is started again, which makes the machine busier.
    public static let handshakeTimeout = Duration.seconds(15)

    /// Initialises the library now, with few threads, so that the first link need not wait for it.
    public static func prepareFew() { Library.prepareFew() }

    /// Makes a link of a connection on which both ends have proved who they are; ``start(_:)`` begins to receive.
    ///
    /// The connection must take messages of a frame and two batches.
    package static func over(_ connection: PairConnection) -> Link { Link(connection) }

    /// Dials the parent's listener and negotiates the connection; ``start(_:)`` begins to receive.
    public static func dial(
        _ address: String,
        limits: FrameLimits = .default,
        timeout: Duration = Link.handshakeTimeout
    ) async throws(LinkError) -> Link {
        do throws(NNGError) {
            let connection = try await PairConnection.dial(address, maximumMessageSize: maximumMessageSize(limits), timeout: timeout)
            return Link(connection, limits: limits)
        } catch {
            throw LinkError(error)
        }
    }
}

/// The process at the other end of a link, according to the kernel.
public struct PeerIdentity: Sendable, Hashable {
    /// The process that made the connection.
    public let processID: Int32
    /// The user as whom the process ran.
    public let userID: UInt32
}
