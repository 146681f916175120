import Glibc
import Links
import Processes
import Synchronization
import WireProtocol

/// A worker's end of the link to its parent.
///
/// When the link breaks and the parent lives, the worker dials again with its ticket. When nobody answers within the orphan grace it
/// is an orphan, and ends.
final class Uplink: Sendable {
    struct Events: Sendable {
        let started: @Sendable (Start, Frame) -> Void
        let stopRequested: @Sendable (_ grace: Duration?) -> Void
        /// The parent has taken note of the end.
        let dismissed: @Sendable () -> Void
        /// The parent is gone.
        let orphaned: @Sendable () -> Void
        let messageReceived: @Sendable (_ envelope: Envelope, _ target: String, _ isDirect: Bool) -> Void
        let inspected: @Sendable (_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue
    }

    private struct State {
        var peer: Peer?
        var welcome: Welcome?
        var isEnding = false
        /// When the worker gives its parent up; set while there is no welcome.
        var orphanedAt: MonotonicTime?
    }

    /// How long a worker that must not outlive its parent looks for it after the link broke.
    private static let strictGrace = Duration.seconds(2)

    /// How long the parent may take to say welcome.
    private static let welcomeTimeout = Duration.seconds(5)

    private let ticket: Ticket
    private let events: Events
    private let tasks = OwnedTasks()
    private let state = Mutex(State())

    init(_ ticket: Ticket, events: Events) {
        self.ticket = ticket
        self.events = events
    }

    /// Whether everything above speaks the compact codec.
    var isCompact: Bool { state.withLock { $0.welcome?.buildID == BuildID.current } }

    /// Dials the parent and says hello.
    func connect() async throws(LinkError) {
        let link = try await Link.dial(ticket.address)
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
        _ = Timers.shared.schedule(at: .now + Self.welcomeTimeout) { [weak self] in
            if let self, state.withLock({ $0.peer == nil }) { link.close() }
        }
    }

    /// Sends a message on its way up.
    func forward(_ envelope: Envelope) {
        // An empty target: from the parent of this process's own coordinator upwards.
        if state.withLock({ $0.peer })?.forward(envelope, to: "", isDirect: false) == true { return }
        let message = "the parent of \(ticket.path) can't be reached at the moment"
        envelope.end(.failure(CoordinatorError(.peerLost, message, maybeExecuted: false)))
    }

    /// Tells the processes above of one below, and returns when they have taken note of it.
    func report(_ process: ProcessIdentity, lives: Bool) async throws {
        guard let peer = state.withLock({ $0.peer }) else {
            throw CoordinatorError(.peerLost, "the parent of \(ticket.path) can't be reached", maybeExecuted: false)
        }
        let report = ProcessReport(process: process, lives: lives)
        _ = try await peer.inspect(report.operation, "", report.payload, timeout: .seconds(5))
    }

    /// - Returns: why it could not be sent.
    @discardableResult
    func send(_ frame: Frame) -> LinkError? {
        guard let peer = state.withLock({ $0.peer }) else { return LinkError(.peerClosed, "the link is down") }
        return peer.send(frame)
    }

    /// The worker ends: it doesn't dial any more.
    func beginEnding() {
        state.withLock { $0.isEnding = true }
    }

    private func greeted(_ link: Link, _ frame: Frame) {
        guard case .welcome(let welcome) = frame.content else {
            if case .goodbye(let reason) = frame.content { Diagnostics.print("refused by the parent: \(reason)") }
            return link.close()
        }
        let peer = Peer(
            link,
            codec: welcome.buildID == BuildID.current ? .compact : .json,
            name: "the parent of \(ticket.path)",
            owner: Peer.Owner(
                messageReceived: events.messageReceived,
                inspected: events.inspected,
                frameReceived: { [self] in receive($0) },
                closed: { [self] _ in lost(link) }
            )
        )
        state.withLock { ($0.peer, $0.welcome, $0.orphanedAt) = (peer, welcome, nil) }
        link.hand(over: peer.handler)
    }

    private func receive(_ frame: Frame) {
        switch frame.content {
        case .start(let start): events.started(start, frame)
        case .stop(let stop): events.stopRequested(stop.graceMilliseconds == .max ? nil : .milliseconds(Int64(stop.graceMilliseconds)))
        case .goodbye: events.dismissed()
        default: break
        }
    }

    private func lost(_ link: Link) {
        let mustDial = state.withLock { state -> Bool in
            if let peer = state.peer, peer.link !== link { return false }
            state.peer = nil
            return !state.isEnding
        }
        if mustDial { tasks.add { await self.dialAgain() } }
    }

    private func dialAgain() async {
        let grace = ticket.isStrict ? Self.strictGrace : .milliseconds(Int64(ticket.orphanGraceMilliseconds))
        let deadline = state.withLock { state in
            let deadline = state.orphanedAt ?? .now + grace
            state.orphanedAt = deadline
            return deadline
        }
        while MonotonicTime.now < deadline, getppid() == ticket.parentProcessID || !ticket.isStrict {
            do throws(LinkError) {
                return try await connect()
            } catch {
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        events.orphaned()
    }
}
