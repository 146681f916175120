import ConcurrencySupport
import DequeModule
import Glibc
import Links
import Processes
import WireProtocol
import WorkerLifecycle

/// The reactions of a worker to its parent's frames and loss.
///
/// The functions are called on the link's threads: an owner must not block there.
protocol UplinkOwner: AnyObject, Sendable {
    /// Takes messages of one name that have arrived one after the other.
    ///
    /// `target`: the path of the coordinator that the messages are for; empty: the one that the process begins with.
    func messagesReceived(_ envelope: Envelope, _ target: String, _ isDirect: Bool)
    /// Answers a request of the parent for this process's runtime.
    func inspected(_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue
    /// Takes note that a message of the parent, which wants no answer, can't be handled.
    func messageLost(_ envelope: Envelope, _ error: any Error)
    /// Takes every other frame of the parent, except answers, pings and the handshake.
    func frameReceived(_ frame: Frame, on link: Link)
    /// Takes note that the parent is lost for good.
    func parentLost(_ loss: Uplink.Loss)
    /// Takes note that what was announced to the parent can never be sent.
    func announcementRefused(_ error: LinkError)
    /// The topmost coordinator of the process.
    var top: (any MessageReceiver)? { get }
}

extension UplinkOwner {
    func announcementRefused(_ error: LinkError) {}

    var top: (any MessageReceiver)? { nil }
}

/// A worker's end of the link to its parent.
///
/// ``UplinkMachine`` decides when to dial and when the parent is given up; the uplink reports to it what happens, and carries out its
/// directives. A link may break, and the next one goes on where it was: standing frames (what the worker is, and which rows and processes are
/// below it) come first on each, then what has waited, then all that is new. While there's no link, or the parent's program is being
/// replaced, messages wait here, within one bound for all; when the parent is given up they end, and no later one is taken.
final class Uplink: Sendable {
    /// The way in which the parent was lost.
    enum Loss: Sendable {
        /// The first dial has failed.
        case unreachable(String)
        /// The parent was given up after the link had been lost.
        case orphaned
        /// The link was lost while the worker ended: the parent takes no note of the end any more.
        case leftDuringEnd
    }

    struct State: MachineState {
        var machine: UplinkMachine
        var outbox = Outbox<UplinkMachine.Directive>()
        /// The link that was dialled last; `nil` once it's lost.
        var attachment: Attachment?
        /// The frames that are sent again on every new link: that the coordinator is ready, that it has finished.
        var standing: [Frame] = []
        var above: Above
        /// The processes below, as the parents know them.
        var reports = Reports()
        var waiting = Waiting()
        /// The owner, which lives as long as the process.
        var owner: (any UplinkOwner)?
    }

    /// The parts of the processes above that outlast a link.
    struct Above {
        /// The directory of the rows above that has arrived last; every link brings it again, and a parent whose own has changed too.
        var directory: ResponderDirectory?
        /// The functions that are called when another directory has arrived.
        var listeners = ChangeListeners<ResponderDirectory>()
        /// Whether all processes above spoke the compact codec on the last link that was in use.
        var isCompact = false
        /// The newest epoch of a parent that the worker has been welcomed in, and before that the ticket's.
        var epoch: UInt32
    }

    /// The waits for the next link.
    struct Waiting {
        /// The messages that wait.
        var kept = MessageParking<KeptMessage>()
        /// Whether new messages wait too, because another program is about to take the parent's place.
        var isHeld = false
        /// The signal that there is a link in use again, or never will be.
        var nextLink: OneShot<Void>?
    }

    /// A link that was dialled.
    struct Attachment {
        let id: UplinkMachine.LinkID
        let link: Link
        /// The parent, once it has sent its welcome.
        var peer: Peer?
        /// The directory while it arrives.
        var directory = IncomingDirectory()
        /// The number of standing frames that have been sent on the link.
        var told = 0
        /// Whether all standing frames have been sent on the link: every other frame comes after them.
        var isIntroduced = false
    }

    let ticket: Ticket
    private let counts: LiveCounts
    private let busyWait: Duration
    private let sizes: MessageSizes
    /// The dials, each of which ends within the time that it's given.
    let tasks = OwnedTasks()
    let state: MachineShell<State>
    /// The moves of pages that wait for the next link, oldest first.
    let moves = Lock<Deque<Envelope>>([])

    init(
        _ ticket: Ticket,
        counts: LiveCounts,
        busyWait: Duration = .zero,
        sizes: MessageSizes = .init()
    ) {
        self.sizes = sizes
        self.ticket = ticket
        self.counts = counts
        self.busyWait = busyWait
        var limits = UplinkMachine.Limits()
        limits.handshake = Link.handshakeTimeout
        if !ticket.isStrict { limits.orphanGrace = .milliseconds(Int64(ticket.orphanGraceMilliseconds)) }
        limits.searchesAtFirst = ticket.epoch != 0
        state = MachineShell(State(machine: UplinkMachine(limits: limits), above: Above(epoch: ticket.epoch)))
    }

    /// Dials the parent; the owner gets the parent's frames from now on.
    func connect(for owner: any UplinkOwner) {
        handle(.connectRequested) { $0.owner = owner }
    }

    /// Ends the search for the parent: a link that is lost from now on isn't replaced.
    func beginEnding() {
        handle(.endRequested)
        guard !state.withLock({ $0.machine.mayBeLinked }) else { return }
        endKeptMessages()
        settleNextLink()
    }

    /// Reports an event to the machine, and carries out the machine's decisions.
    ///
    /// - Parameter change: The change of the state that goes with the event, under the same lock.
    private func handle(_ event: UplinkMachine.Event, _ change: (inout State) -> Void = { _ in }) {
        state.mutate { state in
            change(&state)
            state.outbox.add(state.machine.handle(event, now: MonotonicTime.now.sinceOrigin))
        } performing: {
            perform($0)
        }
    }

    /// Not inlined: the compiler makes a copy of what calls it for each change.
    @inline(never)
    private func perform(_ directive: UplinkMachine.Directive) {
        switch directive {
        case .dial(let id, let timeout): tasks.add { await self.dial(id, within: timeout) }
        case .greet(let id): greet(id)
        // The link's own thread has introduced the worker already, before the next frame: the parent's first frame may get an answer at
        // once.
        case .introduce: break
        case .close(let id): attachment(id)?.link.close()
        case .unreachable(let reason): give(up: .unreachable(reason))
        case .orphaned: give(up: .orphaned)
        case .parentLeft: give(up: .leftDuringEnd)
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed) }
        }
    }

    private func give(up loss: Loss) {
        endKeptMessages()
        settleNextLink()
        owner?.parentLost(loss)
    }

    var owner: (any UplinkOwner)? { state.withLock { $0.owner } }

    /// The messages that wait for the next link, and for room on the present one; `nil` when there are none.
    var waitingPlace: CoordinatorSnapshot.WaitingPlace? {
        let (kept, peer) = state.withLock { ($0.waiting.kept.messages.map(\.envelope), $0.peer) }
        let waiting = kept + moves.withLock { Array($0) } + (peer?.messagesWithoutRoom ?? [])
        return CoordinatorSnapshot.WaitingPlace(.parent, waiting)
    }

    private func attachment(_ id: UplinkMachine.LinkID) -> Attachment? {
        state.withLock { $0.attachment?.id == id ? $0.attachment : nil }
    }
}

// MARK: - Links

extension Ticket {
    /// The directory of the tree's sockets, which the address names.
    var directory: String? {
        address.split(separator: ":", maxSplits: 1).last.map { address in
            String(address.dropFirst(2).prefix(upTo: address.lastIndex(of: "/") ?? address.endIndex))
        }
    }

    /// The parent's user, to whom the directory belongs; the worker may run as another one.
    var parentUserID: UInt32? {
        var status = stat()
        guard let directory, stat(directory, &status) == 0 else { return nil }
        return status.st_uid
    }
}

extension Uplink {
    private func dial(_ id: UplinkMachine.LinkID, within timeout: Duration) async {
        guard !ticket.isStrict || WorkerProcess.isBelow(ticket.parentProcessID) else { return handle(.parentEnded) }
        do throws(LinkError) {
            let link = try await Link.dial(ticket.address, timeout: timeout)
            // Another process that listens in the parent's place must not learn the secret, unless it may be one that adopts the worker: the
            // directory belongs to the parent's user.
            guard let peer = link.peer, peer.userID == ticket.parentUserID, ticket.epoch != 0 || peer.processID == ticket.parentProcessID
            else {
                link.close()
                throw LinkError(.handshake, "the process that listens at \(ticket.address) isn't the parent, \(ticket.parentProcessID)")
            }
            handle(.dialled(id)) { $0.attachment = Attachment(id: id, link: link) }
        } catch {
            handle(.dialFailed(id, "\(error)"))
        }
    }

    private func greet(_ id: UplinkMachine.LinkID) {
        guard let link = attachment(id)?.link else { return }
        link.start(
            Link.Handler(
                frameReceived: { [self] link, frame in receiveGreeting(frame, on: link, id) },
                closed: { [self] _, _ in lose(id) }
            )
        )
        let hello = Hello(
            secret: ticket.secret,
            processID: getpid(),
            processStartTime: ProcessIdentity.current.startTime,
            buildID: BuildID.current,
            maximumFrameSize: UInt32(sizes.frame)
        )
        do throws(LinkError) {
            let epoch = state.withLock { $0.above.epoch }
            try link.send(Frame(.hello(hello), sequence: UInt64(sizes.message), epoch: epoch), lane: .control)
        } catch {
            link.close()
        }
    }

    private func receiveGreeting(_ frame: Frame, on link: Link, _ id: UplinkMachine.LinkID) {
        guard let welcome = acceptableWelcome(frame) else { return link.close() }
        let isCompact = welcome.buildID == BuildID.current
        let peer = makePeer(on: link, id, isCompact ? .compact : .json)
        link.limitFrames(to: Int(welcome.maximumFrameSize))
        link.useParts(upTo: sizes.message, and: frame.sequence)
        let epoch = ticket.epoch == 0 ? 0 : frame.epoch
        link.useEpoch(epoch)
        // The peer takes over here, before the next frame arrives. A link that was given up meanwhile is closed, and ends the peer.
        link.hand(over: peer.handler)
        handle(.welcomed(id)) { state in
            guard state.attachment?.id == id else { return }
            state.attachment?.peer = peer
            state.above.isCompact = isCompact
            state.waiting.isHeld = false
            if epoch > state.above.epoch { state.reports.repeatAll() }
            state.above.epoch = max(epoch, state.above.epoch)
        }
        if state.withLock({ $0.machine.link == id }) { introduce(peer, on: id) }
    }

    private func acceptableWelcome(_ frame: Frame) -> Welcome? {
        guard case .welcome(let welcome) = frame.content else {
            if case .goodbye(let reason) = frame.content { Diagnostics.print("refused by the parent: \(reason)") }
            return nil
        }
        let known = state.withLock { $0.above.epoch }
        guard frame.epoch >= known else {
            Diagnostics.print("a parent of epoch \(frame.epoch) was refused: this worker knows a later one, of epoch \(known)")
            return nil
        }
        guard welcome.maximumFrameSize >= FrameLimits.smallestFrameSize else {
            Diagnostics.print(
                "the parent takes frames of \(welcome.maximumFrameSize) bytes only, fewer than \(FrameLimits.smallestFrameSize)"
            )
            return nil
        }
        return welcome
    }

    private func makePeer(on link: Link, _ id: UplinkMachine.LinkID, _ codec: PayloadCodec) -> Peer {
        Peer(
            link,
            with: .parent,
            codec: codec,
            name: "the parent of \(ticket.path)",
            announcesCredit: true,
            counts: counts,
            busyWait: busyWait,
            owner: Peer.Owner(
                messagesReceived: { [self] in owner?.messagesReceived($0, $1, $2) },
                inspected: { [self] in try await owner?.inspected($0, $1, $2) ?? .null },
                notified: { _, _, _ in },
                frameReceived: { [self] frame in
                    if case .directory(let level) = frame.content { learn(level, on: id) } else { owner?.frameReceived(frame, on: link) }
                },
                messageLost: { [self] in owner?.messageLost($0, $1) },
                messageReturned: { [self] message in
                    keep(returned: KeptMessage(envelope: message.envelope, target: message.target, isDirect: message.isDirect))
                    return true
                },
                executorProbed: { [self] in await owner?.top?.passExecutor {} },
                top: { [self] in owner?.top },
                closed: { [self] error in
                    if error.isOfBrokenRule { Diagnostics.print("the link was closed: \(error.message)") }
                    lose(id)
                }
            )
        )
    }

    /// Takes a part of the directory of the rows above.
    private func learn(_ level: Directory, on id: UplinkMachine.LinkID) {
        let change = state.withLock { state -> (ResponderDirectory, [@Sendable (ResponderDirectory) -> Void])? in
            guard state.attachment?.id == id, let directory = state.attachment?.directory.add(level) else { return nil }
            defer { state.above.directory = directory }
            return state.above.directory?.isSame(as: directory) == false ? (directory, state.above.listeners.all) : nil
        }
        guard let (directory, listeners) = change else { return }
        for listener in listeners { listener(directory) }
    }

    /// Adds a function that is called when the directory of the rows above has changed: for a link to a process below.
    func whenDirectoryChanges(_ listener: @escaping @Sendable (ResponderDirectory) -> Void) -> UInt64 {
        state.withLock { $0.above.listeners.add(listener) }
    }

    /// Removes a function that is called when the directory has changed.
    func forget(_ listener: UInt64) { state.withLock { $0.above.listeners.remove(listener) } }

    private func lose(_ id: UplinkMachine.LinkID) {
        handle(.linkLost(id)) { state in
            if state.attachment?.id == id { state.attachment = nil }
        }
    }

    private func introduce(_ peer: Peer, on id: UplinkMachine.LinkID) {
        peer.announceCredit()
        while let step = state.withLock({ $0.nextIntroduction(for: id) }) {
            switch step {
            case .frame(let frame):
                // An output may be large, and only what isn't urgent leaves in parts.
                let lane: Link.Lane = if case .finish = frame.content { .bulk } else { .control }
                announce(frame, to: peer, lane)
            // The next link begins with them again.
            case .messages(let messages): if !pass(messages, to: peer) { return }
            }
        }
        forwardKeptMoves(to: peer)
        sendReports(to: peer)
        settleNextLink()
    }
}

extension Uplink.State {
    /// The parent, if frames may be sent to it now.
    var peer: Peer? {
        attachment?.isIntroduced == true && attachment?.id == machine.link ? attachment?.peer : nil
    }

    /// The parent, if a new message may be sent to it now.
    ///
    /// While messages are held, those of a handler that is to answer an ask are sent all the same: the asker waits for them.
    var peerForMessages: Peer? { waiting.isHeld && HandlerScope.current == nil ? nil : peer }

    /// What a link begins with, before it's open for everything else.
    enum Introduction {
        case frame(Frame)
        case messages([Uplink.KeptMessage])
    }

    /// Returns what is to be sent next on a link; `nil` when all was, and the link is open.
    mutating func nextIntroduction(for id: UplinkMachine.LinkID) -> Introduction? {
        guard var attachment, attachment.id == id else { return nil }
        defer { self.attachment = attachment }
        if attachment.told < standing.count {
            attachment.told += 1
            return .frame(standing[attachment.told - 1])
        }
        let messages = waiting.kept.removeAll()
        if !messages.isEmpty { return .messages(messages) }
        attachment.isIntroduced = true
        return nil
    }
}
