import ConcurrencySupport
import Links
import Synchronization
import WireProtocol

/// The process at the other end of a link: asks go there and come from there, each answered once.
final class Peer: Sendable {
    /// What a peer's owner does about frames.
    struct Owner: Sendable {
        /// A message has come.
        ///
        /// `target`: below which coordinator, empty for the owner's own choice.
        let messageReceived: @Sendable (_ envelope: Envelope, _ target: String, _ isDirect: Bool) -> Void
        /// The other side wants something of the runtime.
        let inspected: @Sendable (_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue
        /// The other side tells something: the name of a notification, or empty for an event of its coordinator.
        let notified: @Sendable (_ name: String, PayloadCodec, Bytes) -> Void
        /// Everything that is none of these, nor an answer, nor a ping.
        let frameReceived: @Sendable (Frame) -> Void
        /// The link has ended; the open asks have been ended before.
        let closed: @Sendable (LinkError) -> Void
    }

    /// A message that is on its way to the other side, or waits for its turn.
    struct Outgoing: Sendable {
        let envelope: Envelope
        let target: String
        let isDirect: Bool
        let codec: PayloadCodec
        let payload: Bytes
        let correlation: UInt64
        /// Takes the message back that has not left.
        let undelivered: (@Sendable () -> Void)?
        /// It's among the frames that wait for the connection, or further.
        var hasLeft = false
    }

    enum Open {
        case message(Outgoing)
        /// The runtime's own: no ask of a coordinator's.
        case request(OneShot<Result<JSONValue, any Error>>)

        var isMessage: Bool {
            if case .message = self { true } else { false }
        }
    }

    struct State {
        var next: UInt64 = 1
        /// Asks of this side, by correlation.
        var outgoing: [UInt64: Open] = [:]
        /// Asks of the other side, by correlation.
        var incoming: [UInt64: Envelope] = [:]
        var windows: SendWindows<Outgoing>
        var credits = ReceiveCredits()
        /// Bytes of messages between runtimes that are under way here: nobody gives credit for them.
        var builtinBytes = 0
        /// Requests of the other side's runtime that are being answered.
        var inspections = 0
        /// The message that is being handed to the link, and whether its asker has given it up meanwhile.
        var leaving: (correlation: UInt64, isGivenUp: Bool)?
        /// The other side has been told to handle what it has, and to end: nothing more is sent to it.
        var isDraining = false
        /// Why asks that are still open when the link closes have no answer, if the other side has said that it ends.
        var farewell: CoordinatorError?
        var isClosed = false

        init(waitsForWindow: Bool) { windows = SendWindows(waitsForWindow: waitsForWindow) }
    }

    /// How many asks one side may have open.
    static let openAsksLimit = 65_536
    /// How many requests of the other side's runtime may be under way.
    static let inspectionsLimit = 4_096
    /// How many bytes of messages between runtimes may be under way, and how long a trace context may be.
    static let builtinBytesLimit = 16 << 20
    static let traceLimit = 1_024

    let link: Link
    /// How messages to the other side are encoded.
    let codec: PayloadCodec
    let owner: Owner
    let name: String
    let tasks = OwnedTasks()
    let state: Lock<State>
    /// Settled when the link has closed and all that had come is dealt with.
    private let end = OneShot<Void>()
    /// Messages leave one after the other in the order in which they were let go.
    let turn = Lock(())
    let counts: LiveCounts

    /// - Parameters:
    ///   - name: the other side, as errors call it.
    ///   - announcesCredit: the other side will say how much it may have under way; nothing leaves before it has.
    init(_ link: Link, codec: PayloadCodec, name: String, announcesCredit: Bool, counts: LiveCounts, owner: Owner) {
        state = Lock(State(waitsForWindow: announcesCredit))
        self.link = link
        self.codec = codec
        self.name = name
        self.counts = counts
        self.owner = owner
        counts.links.add(1, ordering: .relaxed)
    }

    var handler: Link.Handler {
        Link.Handler(
            frameReceived: { [self] _, frame in receive(frame) },
            closed: { [self] _, error in
                endOpenAsks()
                end.settle(())
                owner.closed(error)
            }
        )
    }

    /// Tells the other side how much it may have under way.
    func announceCredit() {
        let window = CreditWindow.link
        send(Frame(.credit(Credit(target: 0, messages: UInt32(window.messages), bytes: UInt64(window.bytes)))))
    }

    /// Sends a frame of the runtime's: a control frame, or one that must not overtake messages.
    ///
    /// - Returns: why it could not be sent; a link that has closed is known by its own ways.
    @discardableResult
    func send(_ frame: Frame, lane: Link.Lane = .control) -> LinkError? {
        do throws(LinkError) {
            try link.send(frame, lane: lane)
            return nil
        } catch {
            return error
        }
    }

    /// The other side has said that it ends: what it has not answered by now it never had, or never began.
    func bidFarewell(_ reason: ExitReason) {
        let error =
            reason.isNormal
            ? CoordinatorError(.stopped, "\(name) has stopped")
            : CoordinatorError(.peerLost, "\(name) has failed", maybeExecuted: false)
        state.withLock { $0.farewell = error }
    }

    /// Waits until everything has been read that the other side, which is gone, has sent.
    func readToEnd(within time: Duration) async {
        _ = await Deadline.within(time) { await self.end.value }
    }

    /// Closes the link; every open ask ends.
    func close() {
        endOpenAsks()
        link.close()
    }

    // MARK: Open asks

    /// Whether a message of this side isn't answered yet, or not yet taken note of.
    var hasOpenMessages: Bool {
        state.withLock { state in
            state.outgoing.values.contains(where: \.isMessage)
        }
    }

    enum Opening {
        case opened(UInt64)
        case full
        case closed
    }

    func open(_ ask: (UInt64) -> Open) -> Opening {
        state.withLock { state -> Opening in
            if state.isClosed { return .closed }
            guard state.outgoing.count < Self.openAsksLimit else { return .full }
            state.next += 1
            let open = ask(state.next)
            state.outgoing[state.next] = open
            if open.isMessage { counts.openAsks.add(1, ordering: .relaxed) }
            return .opened(state.next)
        }
    }

    @discardableResult
    func close(_ correlation: UInt64) -> Open? {
        let open = state.withLock { $0.outgoing.removeValue(forKey: correlation) }
        if open?.isMessage == true { counts.openAsks.subtract(1, ordering: .relaxed) }
        return open
    }

    func lost(maybeExecuted: Bool) -> CoordinatorError {
        CoordinatorError(.peerLost, "\(name) can't be reached: its process has ended, or its link has", maybeExecuted: maybeExecuted)
    }

    private func endOpenAsks() {
        let (isFirst, outgoing, incoming, waiting, farewell) = state.withLock { state in
            defer { (state.outgoing, state.incoming, state.isClosed) = ([:], [:], true) }
            return (!state.isClosed, state.outgoing, state.incoming, state.windows.removeAll(), state.farewell)
        }
        if isFirst { counts.links.subtract(1, ordering: .relaxed) }
        counts.openAsks.subtract(outgoing.values.count(where: \.isMessage), ordering: .relaxed)
        let unsent = Set(waiting.map(\.correlation))
        for (correlation, ask) in outgoing.sorted(by: { $0.key < $1.key }) {
            switch ask {
            case .message(let message) where unsent.contains(correlation):
                if let undelivered = message.undelivered {
                    undelivered()
                } else {
                    message.envelope.end(.failure(farewell ?? lost(maybeExecuted: false)))
                }
            case .message(let message): message.envelope.end(.failure(farewell ?? lost(maybeExecuted: true)))
            case .request(let ending): ending.settle(.failure(farewell ?? lost(maybeExecuted: true)))
            }
        }
        for envelope in incoming.values { envelope.end(.failure(lost(maybeExecuted: true))) }
    }
}
