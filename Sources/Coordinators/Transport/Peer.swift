import ConcurrencySupport
import Links
import Synchronization
import WireProtocol

/// The process at the other end of a link.
///
/// Asks travel in both directions, and each is answered once. A number that grows ties an answer to its ask; what hasn't left when the link
/// closes goes back to who has sent it, since nobody else can have it, and what has left ends with `peerLost`.
///
/// What always holds:
/// - Messages of one route leave in their order, whether or not they have to wait for credit.
/// - Once the other side has named its window, no message leaves without credit: the receiver bounds its own memory.
/// - The phases go one way: once the other side has been told to drain, no message leaves, though answers do.
/// - What a peer may say depends on its ``PeerRole``; anything else closes the link, and is reported.
final class Peer: RemoteProcess {
    /// The functions by which a peer hands frames to its owner.
    struct Owner: Sendable {
        /// Takes a message, or several that share an envelope.
        ///
        /// `target`: the path of the coordinator that the messages are for; empty when the owner chooses.
        let messagesReceived: @Sendable (_ envelope: Envelope, _ target: String, _ isDirect: Bool) -> Void
        /// Answers a request of the other side's runtime.
        let inspected: @Sendable (_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue
        /// Takes a notification of the other side's runtime, or, with an empty name, an event of its coordinator.
        let notified: @Sendable (_ name: String, PayloadCodec, Bytes) -> Void
        /// Takes every other frame that is neither an answer nor a ping.
        let frameReceived: @Sendable (Frame) -> Void
        /// Takes note that a message of the other side, which wants no answer, can't be handled.
        var messageLost: @Sendable (Envelope, any Error) -> Void = { _, _ in }
        /// Takes back a message of this side that has no way of its own to come back; false: it ends with the link.
        var messageReturned: @Sendable (Outgoing) -> Bool = { _ in false }
        /// Returns whether a message of this side that has waited for room may still leave; called under the lock of the peer's state.
        var mayStillLeave: @Sendable (Outgoing) -> Bool = { _ in true }
        /// Takes back a message that has waited for room, and may not leave any more.
        var messageDiverted: @Sendable (Outgoing) -> Void = { _ in }
        /// Takes note that messages of this side that have waited for room wait no more.
        var roomGiven: @Sendable () -> Void = {}
        /// Takes note that a message of the other side for this target was refused after it had been taken.
        var refusedLate: @Sendable (_ target: String) -> Void = { _ in }
        /// Has the executor run a job on which the coordinators run that the other side probes.
        var executorProbed: @Sendable () async -> Void = {}
        /// Returns the topmost coordinator of this process.
        var top: @Sendable () -> (any MessageReceiver)? = { nil }
        /// Takes note that the link has closed, after the open asks have ended.
        let closed: @Sendable (LinkError) -> Void
    }

    /// The request to go on with a search for a cycle.
    static let cycleOperation = "cycle"
    /// The number of asks that one side may have open.
    static let openAsksLimit = 65_536
    /// The number of requests of the other side's runtime that may be under way.
    static let inspectionsLimit = 4_096
    /// The number of bytes that messages between runtimes may have under way.
    static let builtinBytesLimit = 16 << 20
    /// The size of the longest trace context, in bytes.
    static let traceLimit = 1_024

    let link: Link
    /// The other side, by what it may say.
    let correspondent: PeerRole
    /// The encoding of messages to the other side.
    let codec: PayloadCodec
    let owner: Owner
    /// The other side's name in errors.
    let name: String
    /// The time in nanoseconds at which the life on the other side took its place: what may have been handled before may have been by another.
    ///
    /// All processes of a machine share its monotonic clock. On another machine the time means nothing: no life there is known to have had its
    /// place.
    let place: Atomic<Int64>
    /// The requests that are being answered.
    ///
    /// They aren't cancelled when the link closes: an operator's order is carried out even when its answer can't be sent.
    let tasks = OwnedTasks()
    let state: Lock<State>
    /// Settled when the link has closed and everything that had arrived is handled.
    private let end = OneShot<Void>()
    let counts: LiveCounts
    /// Whether the other side answers messages that were cancelled: a worker in another language needn't.
    let answersCancelled: Bool
    /// The longest time for which an asking task looks for the answer before it's suspended.
    let busyWait: Duration

    /// - Parameters:
    ///   - correspondent: The other side, by what it may say.
    ///   - name: The other side's name in errors.
    ///   - announcesCredit: Whether the other side is a program of this library, which will name the window for messages to it; until then no
    ///     message is sent.
    ///   - sharesClock: Whether the other side is on this machine.
    init(
        _ link: Link,
        with correspondent: PeerRole,
        codec: PayloadCodec,
        name: String,
        announcesCredit: Bool,
        sharesClock: Bool = true,
        counts: LiveCounts,
        busyWait: Duration = .zero,
        owner: Owner
    ) {
        state = Lock(State(waitsForWindow: announcesCredit))
        self.link = link
        self.correspondent = correspondent
        self.codec = codec
        self.name = name
        place = Atomic(sharesClock ? .min : .max)
        self.counts = counts
        answersCancelled = announcesCredit
        self.busyWait = busyWait
        self.owner = owner
        counts.links.add(1, ordering: .relaxed)
    }

    var handler: Link.Handler {
        Link.Handler(
            framesReceived: { [self] _, frames in receive(&frames) },
            closed: { [self] _, error in
                endOpenAsks()
                // Another thread may still hand messages back: those come before everything that goes to a later link.
                let isDone = state.withLock { state in
                    if !state.isHandedBack { state.closure = error }
                    return state.isHandedBack
                }
                if isDone { reportEnd(error) }
            }
        )
    }

    private func reportEnd(_ error: LinkError) {
        end.settle(())
        owner.closed(error)
    }

    /// Names the window for messages of the other side.
    func announceCredit() {
        let window = CreditWindow.link
        send(Frame(.credit(Credit(target: 0, messages: UInt32(window.messages), bytes: UInt64(window.bytes)))))
    }

    /// Sends a frame of the runtime: a control frame, or one that must not overtake messages.
    ///
    /// - Returns: The reason why the frame could not be sent. The owner learns of a closed link separately.
    @discardableResult
    func send(_ frame: Frame, lane: Link.Lane = .control) -> LinkError? {
        do throws(LinkError) {
            try link.send(frame, lane: lane)
            return nil
        } catch {
            return error
        }
    }

    /// Queues a control frame, which ``Link/flush()`` or the next frame begins to send.
    ///
    /// - Returns: As `send`.
    @discardableResult
    func queue(_ frame: (_ name: (String) -> NameID) -> Frame) -> LinkError? {
        do throws(LinkError) {
            try link.append(lane: .control, frame)
            return nil
        } catch {
            return error
        }
    }

    /// Takes note of the other side's end: messages that it has not answered by now never began.
    func bidFarewell(_ reason: ExitReason) {
        let error =
            reason.isNormal
            ? CoordinatorError(.stopped, "\(name) has stopped")
            : CoordinatorError(.peerLost, "\(name) has failed", maybeExecuted: false)
        state.withLock { $0.phase.end(with: error) }
    }

    /// Waits until everything has been read that the other side sent before it ended.
    func readToEnd(within time: Duration) async {
        if end.outcome != nil { return }
        _ = await Grace(time).within { await self.end.value }
    }

    /// Closes the link, and ends every open ask.
    func close() {
        endOpenAsks()
        link.close()
    }

    // MARK: Open asks

    /// Whether a message of this side is still unanswered.
    var hasOpenMessages: Bool {
        state.withLock { state in
            state.outgoing.elements.contains(where: \.isMessage)
        }
    }

    /// Whether no message is open on the link, in either direction.
    var isQuiet: Bool { state.withLock { !$0.outgoing.elements.contains(where: \.isMessage) && $0.incoming.isEmpty } }

    /// Whether the link has closed, and what was open on it has been lost or handed back.
    var isClosed: Bool { state.withLock { $0.phase.isClosed } }

    /// Returns when every message of this side is answered, or can't be answered any more.
    func waitUntilAnswered() async {
        let end = state.withLock { state -> OneShot<Void>? in
            guard state.outgoing.elements.contains(where: \.isMessage) else { return nil }
            let end = state.allAnswered ?? OneShot()
            state.allAnswered = end
            return end
        }
        await end?.value
    }

    /// Waits until every message of this side is answered, for as long as some are; the others are ended then.
    ///
    /// - Parameter patience: The time within which at least one message must be answered.
    func settleMessages(patience: Duration, _ error: CoordinatorError) async {
        var count = openMessages.count
        while count > 0 {
            if await Grace(patience).within({ await self.waitUntilAnswered() }) { return }
            let rest = openMessages
            if rest.count >= count { return rest.forEach { $0.end(.failure(error)) } }
            count = rest.count
        }
    }

    /// Whether messages to a target, or to what is below it, are open.
    ///
    /// - Parameter unsent: Whether only those count that haven't left.
    func hasMessages(within target: String, unsent: Bool = false) -> Bool {
        let below = target + "/"
        return state.withLock { state in
            state.outgoing.elements.contains { open in
                guard case .message(let message) = open, !(unsent && message.hasLeft) else { return false }
                return message.target == target || message.target.hasPrefix(below)
            }
        }
    }

    private var openMessages: [Envelope] {
        state.withLock { state in
            state.outgoing.elements.compactMap { if case .message(let message) = $0 { message.envelope } else { nil } }
        }
    }

    /// Removes an open ask.
    @discardableResult
    func close(_ correlation: UInt64) -> Open? {
        let (open, allAnswered) = state.withLock { ($0.outgoing.remove(correlation), $0.takeAllAnswered()) }
        if open?.isMessage == true { counts.openAsks.subtract(1, ordering: .relaxed) }
        allAnswered?.settle(())
        return open
    }

    func lost(maybeExecuted: Bool) -> CoordinatorError {
        CoordinatorError(.peerLost, "\(name) can't be reached: its process has ended, or its link has", maybeExecuted: maybeExecuted)
    }

    private func endOpenAsks() {
        let (isFirst, outgoing, incoming, timer, farewell) = state.withLock { state in
            defer { (state.incoming, state.phase) = ([:], .closed) }
            _ = state.windows.removeAll()
            return (!state.phase.isClosed, state.outgoing.removeAll(), state.incoming, state.watch.takeTimer(), state.phase.farewell)
        }
        guard isFirst else { return }
        // What is known not to have left now never leaves.
        link.abandonAll()
        if let timer { Timers.shared.cancel(timer) }
        counts.links.subtract(1, ordering: .relaxed)
        counts.openAsks.subtract(outgoing.count(where: \.isMessage), ordering: .relaxed)
        for ask in outgoing.sorted(by: { $0.number < $1.number }) {
            switch ask {
            // One that has left in parts, but not whole, can't have begun.
            case .message(let message) where !message.hasLeft || !message.envelope.mayBeExecuted: handBack(message, because: farewell)
            case .message(let message): end(message, because: farewell)
            case .request(let ending): ending.settle(.failure(farewell ?? lost(maybeExecuted: true)))
            }
        }
        for envelope in incoming.values { endOrAwait(envelope) }
        let (allAnswered, closure) = state.withLock { state in
            state.isHandedBack = true
            return (state.takeAllAnswered(), state.closure.take())
        }
        allAnswered?.settle(())
        if let closure { reportEnd(closure) }
    }

    /// Hands back a message that has not left before the link closed, or ends it if its sender doesn't take it back.
    private func handBack(_ message: Outgoing, because error: CoordinatorError?) {
        if !isTakenBack(message) { message.envelope.end(.failure(error ?? lost(maybeExecuted: false))) }
    }

    /// Ends a message that has left before the link closed, or hands it back if it may be sent again.
    private func end(_ message: Outgoing, because farewell: CoordinatorError?) {
        if farewell == nil, let delivery = message.envelope.delivery {
            delivery.linkBelowWasLost()
            if isTakenBack(message) { return }
        }
        // The other side has ended in order, and has answered all that it had begun.
        if let farewell { return message.envelope.complete(message.envelope.doubted(.failure(farewell))) }
        message.envelope.end(.failure(lost(maybeExecuted: true)))
    }

    /// Hands a message back that the other side doesn't handle, or couldn't be sent.
    ///
    /// - Returns: False when the owner of the link doesn't take it back.
    func isTakenBack(_ message: Outgoing) -> Bool {
        guard let undelivered = message.undelivered else { return owner.messageReturned(message) }
        undelivered()
        return true
    }

    /// Ends a message of the other side, whose asker has left; an acknowledged one goes on, since its sender may send it again.
    private func endOrAwait(_ envelope: Envelope) {
        guard let delivery = envelope.delivery else { return envelope.end(.failure(lost(maybeExecuted: true))) }
        delivery.linkAboveWasLost(after: envelope.arrived)
        guard let deadline = envelope.deadline else { return }
        // The link has watched the deadline so far.
        _ = Timers.shared.schedule(at: deadline) { [weak envelope] in envelope?.timeOut() }
    }
}

extension Peer.State {
    /// Removes and returns the signal to settle, if it's waited for and no message is open any more.
    mutating func takeAllAnswered() -> OneShot<Void>? {
        guard let allAnswered, !outgoing.elements.contains(where: \.isMessage) else { return nil }
        self.allAnswered = nil
        return allAnswered
    }
}

/// What a process takes of another one.
struct MessageSizes {
    /// The size of the largest frame.
    var frame = FrameLimits.default.maximumFrameSize
    /// The size of the largest frame that comes in parts; 0: none does.
    var message = 64 << 20
}

extension Peer {
    /// A message of this side, until it's answered.
    struct Outgoing: Sendable {
        let envelope: Envelope
        /// All names of the message, in the form in which they go over the link.
        let name: String
        let target: String
        let isDirect: Bool
        /// Whether no answer is wanted: the message isn't open any more once the link has taken it.
        let isUnanswered: Bool
        let codec: PayloadCodec
        /// The encoded message, until the link has taken it.
        var payload: Bytes
        /// A function that takes the message back when the link closes before the message was sent.
        let undelivered: (@Sendable () -> Void)?
        /// The place of the message among all messages of this side, counted from 1.
        var number: UInt64 = 0
        /// Whether the link has taken the message.
        var hasLeft = false
    }

    /// An ask of this side that waits for its answer.
    enum Open {
        /// A message of a coordinator.
        case message(Outgoing)
        /// A request of the runtime.
        case request(OneShot<Result<JSONValue, any Error>>)

        var isMessage: Bool {
            if case .message = self { true } else { false }
        }

        /// The place among all messages of this side; requests come first.
        var number: UInt64 {
            if case .message(let message) = self { message.number } else { 0 }
        }
    }

    /// The state of the link with regard to the messages of this side.
    enum Phase {
        /// Messages leave. Can transition to: draining, ending, closed.
        case open
        /// The other side was told to handle the messages that it has, and then to end: no message leaves.
        /// Can transition to: ending, closed.
        case draining
        /// The other side has announced its end. Asks that are still open when the link closes end with the error; messages leave until
        /// then, unless the other side was told to drain. Can transition to: ending (to drain), closed.
        case ending(CoordinatorError, isDraining: Bool)
        /// The link has closed. Final.
        case closed

        var isDraining: Bool {
            switch self {
            case .draining, .ending(_, isDraining: true): true
            case .open, .ending, .closed: false
            }
        }

        var isClosed: Bool {
            if case .closed = self { true } else { false }
        }

        /// The error that open asks end with, if the other side has announced its end.
        var farewell: CoordinatorError? {
            if case .ending(let error, _) = self { error } else { nil }
        }

        mutating func drain() {
            switch self {
            case .open, .draining: self = .draining
            case .ending(let error, _): self = .ending(error, isDraining: true)
            case .closed: break
            }
        }

        mutating func end(with error: CoordinatorError) {
            if !isClosed { self = .ending(error, isDraining: isDraining) }
        }
    }

    /// The work that is under way here for the other side, each kind within its bound.
    struct Admission {
        /// The credit that this side gives for messages of coordinators.
        var credits = ReceiveCredits()
        /// The bytes of messages between runtimes, for which there is no credit.
        var builtinBytes = 0
        /// The number of requests of the other side's runtime that are being answered.
        var inspections = 0
    }

    struct State {
        var phase = Phase.open
        /// Whether everything that was open when the link closed has ended or was handed back.
        var isHandedBack = false
        /// The end of the link, while that isn't so.
        var closure: LinkError?
        /// The asks of this side, by correlation.
        var outgoing = Slab<Open>()
        /// The number of messages of this side so far.
        var messages: UInt64 = 0
        /// The signal that no message of this side is open, made when it's first waited for.
        var allAnswered: OneShot<Void>?
        /// The asks of the other side, by correlation.
        var incoming: [UInt64: Envelope] = [:]
        /// The numbers of asks of the other side that may be still to come, and were cancelled ahead.
        var withdrawn: Set<UInt64> = []
        /// The deadlines of the other side's asks.
        var watch = DeadlineWatch()
        /// The bounds on the messages of this side, and the correlations of the messages that wait for room.
        var windows: SendWindows<UInt64>
        /// The bounds on the messages and requests of the other side.
        var admission = Admission()

        init(waitsForWindow: Bool) { windows = SendWindows(waitsForWindow: waitsForWindow) }

        /// Takes out an ask of the other side that is cancelled, unless it lingers; one that hasn't come isn't opened if it comes before the second cancellation.
        mutating func takeCancelled(_ correlation: UInt64, isAhead: Bool) -> Envelope? {
            let ask = incoming[correlation]
            if ask?.lingers == false { incoming[correlation] = nil }
            if !isAhead {
                withdrawn.remove(correlation)
            } else if ask == nil, withdrawn.count < Peer.openAsksLimit {
                withdrawn.insert(correlation)
            }
            return ask
        }
    }
}
