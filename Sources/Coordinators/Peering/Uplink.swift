import ConcurrencySupport
import DequeModule
import Glibc
import Links
import Processes
import WireProtocol

/// A worker's end of the link to its parent.
///
/// When the link breaks and the parent lives, the worker dials again with its ticket. When nobody answers within the orphan grace it
/// is an orphan, and ends.
final class Uplink: Sendable {
    struct Events: Sendable {
        let started: @Sendable (Start, Frame) -> Void
        let stopRequested: @Sendable (_ grace: Duration?, _ drains: Bool) -> Void
        /// The parent has taken note of the end.
        let dismissed: @Sendable () -> Void
        /// The parent is gone.
        let orphaned: @Sendable () -> Void
        /// The coordinator is paused for a reason, or isn't any more.
        ///
        /// Noted down at once; what is returned has the coordinator follow.
        let paused: @Sendable (PauseReasons, Bool) -> (@Sendable () async -> Void)
        /// Those above have provided something new.
        let inherited: @Sendable (Dependencies) -> Void
        /// A process above wants to see everything that happens here, or no longer.
        let tapped: @Sendable (Bool) -> Void
        let messageReceived: @Sendable (_ envelope: Envelope, _ target: String, _ isDirect: Bool) -> Void
        let inspected: @Sendable (_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue
    }

    private struct State {
        /// The link that was dialled last, greeted or not; none once it's lost.
        var link: Link?
        /// Links are made by one at a time: the connect that begins, or the loop that dials again.
        var isDialling = true
        var peer: Peer?
        var welcome: Welcome?
        var isEnding = false
        /// What is said on every link anew: that the coordinator is ready, that it has finished.
        var standing: [Frame] = []
        /// Whether anybody above hears the coordinator's events.
        var areEventsWanted = false
        /// What those above have provided so far.
        var inherited = Dependencies()
        /// The pause or resume that is under way, or was last.
        var transition: Task<Void, Never>?
        /// When the worker gives its parent up; set while there is no welcome.
        var orphanedAt: MonotonicTime?
    }

    /// How many moves of pages are kept while there is no link.
    private static let movesLimit = 1_024
    /// What a message's frame has beside the payload, at most: the header, a trace context, numbers.
    private static let headroom = 128 + Peer.traceLimit

    /// How long a worker that must not outlive its parent looks for it after the link broke.
    private static let strictGrace = Duration.seconds(2)

    private let ticket: Ticket
    private let events: Events
    private let counts: LiveCounts
    private let tasks = OwnedTasks()
    private let state = Lock(State())
    /// Moves of pages that wait for the next link, oldest first.
    private let moves = Lock<Deque<Envelope>>([])

    init(_ ticket: Ticket, counts: LiveCounts, events: Events) {
        self.ticket = ticket
        self.counts = counts
        self.events = events
    }

    /// Whether everything above speaks the compact codec.
    var isCompact: Bool { state.withLock { $0.welcome?.buildID == BuildID.current } }

    /// Dials the parent and says hello, for the first time.
    func connect() async throws(LinkError) {
        try await dial(within: Link.handshakeTimeout)
        if !endDialling() { tasks.add { await self.dialAgain() } }
    }

    private func dial(within timeout: Duration) async throws(LinkError) {
        let link = try await Link.dial(ticket.address, timeout: timeout)
        // Whoever else has put a socket there must not learn the secret.
        guard let peer = link.peer, peer.userID == geteuid(), peer.processID == ticket.parentProcessID else {
            link.close()
            throw LinkError(.handshake, "the process that listens at \(ticket.address) isn't the parent, \(ticket.parentProcessID)")
        }
        state.withLock { $0.link = link }
        link.start(Link.Handler(frameReceived: { [self] in greeted($0, $1) }, closed: { [self] link, _ in lost(link) }))
        try link.send(
            Frame(
                .hello(
                    Hello(
                        secret: ticket.secret,
                        processID: getpid(),
                        processStartTime: ProcessIdentity.current.startTime,
                        buildID: BuildID.current,
                        maximumFrameSize: UInt32(FrameLimits.default.maximumFrameSize)
                    )
                )
            ),
            lane: .control
        )
        _ = Timers.shared.schedule(at: .now + Link.handshakeTimeout) { [weak self] in
            if let self, state.withLock({ $0.link === link && $0.peer == nil }) { link.close() }
        }
    }

    /// The link that was dialled is used, unless it's lost already: then its loss was left to the one that dials.
    ///
    /// - Returns: whether nobody dials any more.
    private func endDialling() -> Bool {
        state.withLock { state in
            state.isDialling = state.link == nil
            return !state.isDialling
        }
    }

    /// Sends a message on its way up.
    ///
    /// - Parameter target: a coordinator elsewhere in the tree; empty: from the parent of this process's own coordinator upwards.
    func forward(_ envelope: Envelope, to target: String, isDirect: Bool) {
        if envelope.isOneWay, envelope.body.name == Navigate.name { return forwardMove(envelope) }
        if state.withLock({ $0.peer })?.forward(envelope, to: target, isDirect: isDirect) == true { return }
        let message = "the parent of \(ticket.path) can't be reached at the moment"
        envelope.end(.failure(CoordinatorError(.peerLost, message, maybeExecuted: false)))
    }

    /// Sends a move on the stack of pages, on the next link if there is none at the moment.
    private func forwardMove(_ envelope: Envelope) {
        let isKept = moves.withLock { moves -> Bool in
            // Not before those that wait already.
            if moves.isEmpty, state.withLock({ $0.peer })?.forward(envelope, to: "", isDirect: false) == true { return true }
            guard moves.count < Self.movesLimit else { return false }
            moves.append(envelope)
            // It waits here, and no longer under way on the link that it has come by.
            envelope.release()
            return true
        }
        if isKept { return }
        let message = "\(Self.movesLimit) moves of pages wait for the parent of \(ticket.path)"
        envelope.end(.failure(CoordinatorError(.peerLost, message, maybeExecuted: false)))
    }

    private func forwardKeptMoves(to peer: Peer) {
        moves.withLock { moves in
            while let first = moves.first, peer.forward(first, to: "", isDirect: false) { moves.removeFirst() }
        }
    }

    /// Why the stack's owner can't be told of a move.
    func refusal(of move: Navigate) -> CoordinatorError? {
        let limit = (state.withLock { $0.peer }?.link.maximumFrameSize ?? FrameLimits.default.maximumFrameSize) - Self.headroom
        do throws(CoordinatorError) {
            // Those further up may speak either.
            let size = max(try PayloadCoder.encode(move, as: .json).count, try PayloadCoder.encode(move, as: .compact).count)
            return size <= limit ? nil : CoordinatorError(.messageTooLarge, "the page takes \(size) bytes, more than \(limit)")
        } catch {
            return error
        }
    }

    /// Tells the processes above of one below, and returns when they have taken note of it.
    func report(_ report: ProcessReport) async throws {
        guard let peer = state.withLock({ $0.peer }) else {
            throw CoordinatorError(.peerLost, "the parent of \(ticket.path) can't be reached", maybeExecuted: false)
        }
        _ = try await peer.inspect(report.operation, "", report.payload, timeout: .seconds(5))
    }

    /// Asks the processes above to dismiss this process's coordinator.
    func requestDismissal(timeout: Duration) async -> Bool {
        guard let peer = state.withLock({ $0.peer }) else { return false }
        let request = DismissalRequest(timeout: timeout)
        return (try? await peer.inspect(DismissalRequest.operation, "", request.payload, timeout: timeout)) == .bool(true)
    }

    /// Tells the process above something of the runtime's.
    ///
    /// - Returns: false when there is no link.
    func notify(_ name: String, _ value: some Codable & Sendable) -> Bool {
        guard let peer = state.withLock({ $0.peer }), let payload = try? PayloadCoder.encode(value, as: .json) else { return false }
        // What is said in farewell is little, and the last chance.
        let isBounded = !state.withLock { $0.isEnding }
        return (try? peer.notify(name, .json, payload, isBounded: isBounded)) != nil
    }

    /// Tells what the coordinator tells its delegates, if anybody listens.
    ///
    /// - Throws: when it can't be encoded or is too large.
    func emit(_ event: Answer) throws {
        let (areWanted, peer) = state.withLock { ($0.areEventsWanted, $0.peer) }
        guard areWanted else { return }
        guard let peer else { throw CoordinatorError(.peerLost, "the link is down") }
        let payload = try event.encoded(as: peer.codec)
        do throws(LinkError) {
            try peer.notify("", peer.codec, payload)
        } catch {
            switch error.code {
            case .frameTooLarge: throw CoordinatorError(.messageTooLarge, "the event: \(error.message)")
            case .congested: throw CoordinatorError(.mailboxFull, error.message)
            default: throw CoordinatorError(.peerLost, error.message)
            }
        }
    }

    /// Sends a frame now and on every later link, so that it's heard whatever becomes of this one.
    ///
    /// - Returns: why it will never be heard; a link that is down is no reason.
    func announce(_ frame: Frame, lane: Link.Lane = .control) -> LinkError? {
        let peer = state.withLock { state in
            state.standing.append(frame)
            return state.peer
        }
        guard let error = peer?.send(frame, lane: lane), error.code == .frameTooLarge else { return nil }
        return error
    }

    /// - Returns: why it could not be sent.
    @discardableResult
    func send(_ frame: Frame, lane: Link.Lane = .control) -> LinkError? {
        guard let peer = state.withLock({ $0.peer }) else { return LinkError(.peerClosed, "the link is down") }
        return peer.send(frame, lane: lane)
    }

    /// How much has left so far; while it grows, the parent reads.
    var transmissions: UInt64 { state.withLock { $0.peer }?.link.transmissions ?? 0 }

    /// The worker ends: it doesn't dial any more.
    func beginEnding() {
        state.withLock { $0.isEnding = true }
    }

    private func greeted(_ link: Link, _ frame: Frame) {
        guard case .welcome(let welcome) = frame.content else {
            if case .goodbye(let reason) = frame.content { Diagnostics.print("refused by the parent: \(reason)") }
            return link.close()
        }
        guard welcome.maximumFrameSize >= FrameLimits.smallestFrameSize else {
            Diagnostics.print(
                "the parent takes frames of \(welcome.maximumFrameSize) bytes only, fewer than \(FrameLimits.smallestFrameSize)"
            )
            return link.close()
        }
        let peer = Peer(
            link,
            codec: welcome.buildID == BuildID.current ? .compact : .json,
            name: "the parent of \(ticket.path)",
            announcesCredit: true,
            counts: counts,
            owner: Peer.Owner(
                messageReceived: events.messageReceived,
                inspected: events.inspected,
                notified: { _, _, _ in },
                frameReceived: { [self] in receive($0) },
                closed: { [self] error in
                    if error.code == .violation || error.code == .malformed { Diagnostics.print("the link was closed: \(error.message)") }
                    lost(link)
                }
            )
        )
        link.limitFrames(to: Int(welcome.maximumFrameSize))
        let standing = state.withLock { state -> [Frame]? in
            // It may have been lost meanwhile.
            guard state.link === link else { return nil }
            (state.peer, state.welcome, state.orphanedAt) = (peer, welcome, nil)
            return state.standing
        }
        guard let standing else { return }
        link.hand(over: peer.handler)
        peer.announceCredit()
        for frame in standing { peer.send(frame) }
        forwardKeptMoves(to: peer)
    }

    private func receive(_ frame: Frame) {
        switch frame.content {
        case .start(let start): events.started(start, frame)
        case .stop(let stop):
            let grace: Duration? = stop.graceMilliseconds == .max ? nil : .milliseconds(Int64(stop.graceMilliseconds))
            events.stopRequested(grace, frame.flags.contains(.drain))
        case .goodbye: events.dismissed()
        case .pause(let pause): follow(frame, events.paused(PauseReasons(wire: pause.reason), true))
        case .resume(let resume): follow(frame, events.paused(PauseReasons(wire: resume.reason), false))
        case .dependency(let dependency): inherit(dependency, frame.codec)
        case .subscribe(let subscribe): self.subscribe(subscribe)
        default: break
        }
    }

    /// Pauses come one after the other, and are answered when the coordinator has followed.
    private func follow(_ frame: Frame, _ transition: @escaping @Sendable () async -> Void) {
        let former = state.withLock { $0.transition }
        let next = Task { [self] in
            await former?.value
            await transition()
            guard frame.correlation != 0, let payload = try? PayloadCoder.encode(JSONValue.null, as: .json) else { return }
            send(Frame(.reply(.success(payload)), correlation: frame.correlation, codec: .json))
        }
        state.withLock { $0.transition = next }
    }

    private func inherit(_ dependency: Dependency, _ codec: PayloadCodec) {
        let dependencies = state.withLock { state -> Dependencies? in
            guard let name = state.peer?.link.text(of: dependency.name) else { return nil }
            // Told again, with other things or on a new link: what was made from it stays.
            if state.inherited.entries[name]?.isEncoded(codec, dependency.payload) == true { return nil }
            state.inherited.entries[name] = DependencyEntry(codec, dependency.payload)
            return state.inherited
        }
        if let dependencies { events.inherited(dependencies) }
    }

    private func subscribe(_ subscribe: Subscribe) {
        guard let peer = state.withLock({ $0.peer }) else { return }
        switch peer.link.text(of: subscribe.name) {
        case Notification.tap: events.tapped(subscribe.isActive)
        default: state.withLock { $0.areEventsWanted = subscribe.isActive }
        }
    }

    private func lost(_ link: Link) {
        let (isCurrent, isEnding, mustDial) = state.withLock { state in
            guard state.link === link else { return (false, state.isEnding, false) }
            (state.link, state.peer) = (nil, nil)
            let mustDial = !state.isDialling && !state.isEnding
            if mustDial { state.isDialling = true }
            return (true, state.isEnding, mustDial)
        }
        guard isCurrent else { return }
        // Nobody is left to take note of the end.
        if isEnding { return events.dismissed() }
        if mustDial { tasks.add { await self.dialAgain() } }
    }

    private func dialAgain() async {
        let grace = ticket.isStrict ? Self.strictGrace : .milliseconds(Int64(ticket.orphanGraceMilliseconds))
        let deadline = state.withLock { state in
            let deadline = state.orphanedAt ?? .now + grace
            state.orphanedAt = deadline
            return deadline
        }
        while MonotonicTime.now < deadline, !ticket.isStrict || WorkerProcess.isBelow(ticket.parentProcessID) {
            // Why a dial has failed doesn't matter: the next may succeed.
            try? await dial(within: min(Link.handshakeTimeout, deadline - .now))
            if endDialling() { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
        events.orphaned()
    }
}
