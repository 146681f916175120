import ConcurrencySupport
import Glibc
import NNG
public import Processes

/// A server that listens at a control socket and passes operators' requests to a handler.
///
/// Each connection and each request has its own task, so neither a slow client nor a slow request keeps others waiting. A message that
/// isn't a request is answered with an error and the connection stays; bytes that aren't a message end that connection and no other.
public final class ControlServer: Sendable {
    /// The size of the largest request, in bytes.
    public static let maximumRequestSize = 1 << 20
    /// The size up to which a request that is too large is read, to be answered with an error; a larger one ends the connection.
    static let maximumReceivedSize = maximumRequestSize * 2
    /// The size of the largest answer, in bytes: a tree of some hundred thousand coordinators.
    public static let maximumAnswerSize = 64 << 20
    /// The largest number of open requests of one connection; more are refused.
    public static let maximumOpenRequests = 256
    /// The largest number of these requests that describe the tree or a part of it, which cost most.
    public static let maximumOpenDescriptions = 64
    /// The largest number of these requests that are streams, each of which may last for long.
    public static let maximumOpenStreams = 16

    private enum Phase {
        /// The socket isn't bound yet. Can transition to: listening by `listen()`, closed by `close()`.
        case idle
        /// The socket is bound, but no connection is served yet. Can transition to: serving by `run()`, closed by `close()`.
        case listening(ControlEndpoint)
        /// Connections are accepted and served. Can transition to: closing by `close()`, closed when `run()` is cancelled or fails.
        case serving(ControlEndpoint)
        /// Open requests are still answered. Can transition to: closed when all are answered or the grace is over.
        case closing
        /// The socket file is removed. Final.
        case closed
    }

    private struct State {
        var phase = Phase.idle
        var conversations: [ObjectIdentifier: ControlConversation] = [:]
        /// The reason why the directory isn't this server's any more.
        var loss: ControlError?
        /// Whether all connections are ended, because another program takes the daemon's place.
        var isDismissing = false
        /// The number of connections that were accepted and aren't conversations yet.
        var arriving = 0
        /// Whether the acceptance of connections has noticed that the listener was closed.
        var acceptsNone = false
    }

    /// The state that a close leaves, to be acted on after the lock.
    private struct Closing {
        let formerPhase: Phase
        let conversations: [ControlConversation]
    }

    private let path: String
    private let handler: any ControlHandler
    private let roles: OperatorRoles
    private let grace: Duration
    private let limits: ConnectionLimits
    private let yields: @Sendable () -> Bool
    private let restored: @Sendable ([String]) -> Void
    private let connections: ConnectionTable
    /// The connections of other nodes, which don't give way to operators.
    private let links: ConnectionTable
    let budgets: ControlBudgets
    let ledger: RequestLedger
    let intake = RequestIntake()
    private let state = Lock(State())
    /// The value that is set when the server is closing and its last conversation has ended.
    private let drained = OneShot<Void>()

    /// Creates a server, which touches no file before ``listen()``.
    ///
    /// - Parameters:
    ///   - path: the path of the socket, as a runtime directory's `controlSocket`. Its directory is made with mode 0700 when it is missing.
    ///   - handler: the handler that carries requests out.
    ///   - allowedUserIDs: the users who may connect and have every role, by the kernel's word; nil means the user of this process, and root.
    ///   - groups: the groups whose members may connect too, with their roles, of which a member of several has the highest. The socket
    ///     then has mode 0660 or an access control list, and lets pass the directory, so that the kernel keeps all others out. With one group, a
    ///     process that isn't root's must be a member itself.
    ///   - grace: the time after ``close()`` in which open requests are still answered.
    ///   - limits: the limits of connections.
    ///   - yields: returns whether ``run()`` ends when the directory was removed and another daemon uses the new one of its name; otherwise
    ///     the server waits until it can have that directory.
    ///   - restored: is told what was removed of the runtime directory and has been made again: the directory itself, or names of its files.
    public init(
        path: String,
        handler: any ControlHandler,
        allowedUserIDs: Set<UInt32>? = nil,
        groups: [UInt32: OperatorRole] = [:],
        grace: Duration = .seconds(2),
        limits: ConnectionLimits = ConnectionLimits(),
        yields: @escaping @Sendable () -> Bool = { true },
        restored: @escaping @Sendable ([String]) -> Void = { _ in }
    ) {
        self.yields = yields
        self.restored = restored
        self.limits = limits
        connections = ConnectionTable(limits)
        links = ConnectionTable(limits)
        budgets = ControlBudgets(limits)
        ledger = RequestLedger(maximumBytes: limits.maximumKeptBytes)
        self.path = path
        self.handler = handler
        roles = OperatorRoles(userIDs: allowedUserIDs ?? [geteuid(), 0], groups: groups)
        self.grace = grace
    }

    /// Locks the runtime directory and begins to listen; operators who connect now are served as soon as ``run()`` runs.
    ///
    /// A daemon calls this before it starts anything, so that no other daemon uses the directory. The second call does nothing.
    ///
    /// - Throws: `.alreadyRunning` with the other daemon's process ID, `.notPermitted` when other users may write to the directory,
    ///   `.failed` for every other reason.
    public func listen() throws(ControlError) {
        // Under the lock, so that two calls don't make two endpoints; none of these system calls waits.
        let failure = state.withLock { state -> ControlError? in
            guard case .idle = state.phase else { return nil }
            do throws(ControlError) {
                state.phase = .listening(try ControlEndpoint(path: path, groups: roles.groups.keys.sorted()))
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Serves until ``close()`` is called or the task is cancelled.
    ///
    /// After a close, open requests are answered as long as the grace lasts; a cancellation cancels them. The socket file is removed when
    /// the call returns.
    ///
    /// - Throws: the errors of ``listen()``, `.failed` when the server can't accept connections any more, and `.alreadyRunning` when the
    ///   directory was removed and another daemon uses the new one of its name.
    public func run() async throws(ControlError) {
        try listen()
        let endpoint = state.withLock { state -> ControlEndpoint? in
            guard case .listening(let endpoint) = state.phase else { return nil }
            state.phase = .serving(endpoint)
            return endpoint
        }
        guard let endpoint else { return }
        let failure = await withDiscardingTaskGroup { group in
            group.addTask { await self.watch(endpoint) }
            let failure = await acceptAll(at: endpoint, in: &group)
            if failure == nil { await drain() }
            group.cancelAll()
            return failure
        }
        state.withLock { $0.phase = .closed }
        endpoint.remove()
        if let failure { throw failure }
    }

    /// Ends ``run()``: the server accepts no connection and no request any more, and answers the open requests.
    ///
    /// Returns at once. The second call does nothing.
    public func close() {
        let closing = state.withLock { state in
            let formerPhase = state.phase
            switch formerPhase {
            case .idle, .listening: state.phase = .closed
            case .serving: state.phase = .closing
            case .closing, .closed: break
            }
            return Closing(formerPhase: formerPhase, conversations: Array(state.conversations.values))
        }
        switch closing.formerPhase {
        case .listening(let endpoint): endpoint.remove()
        case .serving(let endpoint):
            endpoint.listener.close()
            if closing.conversations.isEmpty { drained.settle() }
            for conversation in closing.conversations { conversation.drain() }
        case .idle, .closing, .closed: break
        }
    }

    /// Ends all connections, each with the word that another program takes the daemon's place, and accepts none.
    ///
    /// What a requester has sent and has no answer to wasn't carried out, so it can be sent again. When the daemon stays after all,
    /// ``readmit()`` makes the socket anew.
    public func dismissAll() async {
        let endpoint = state.withLock { state -> ControlEndpoint? in
            guard case .serving(let endpoint) = state.phase else { return nil }
            (state.isDismissing, state.acceptsNone) = (true, false)
            return endpoint
        }
        endpoint?.listener.close()
        // A peer that has been greeted may have sent a request: it must hear that the request was not read.
        let deadline = ContinuousClock.now + limits.dismissalTimeout
        while state.withLock({ $0.arriving > 0 || !$0.acceptsNone }), ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(1))
        }
        let conversations = state.withLock { Array($0.conversations.values) }
        await withDiscardingTaskGroup { group in
            for conversation in conversations { group.addTask { await conversation.dismiss() } }
        }
    }

    /// Accepts connections again after ``dismissAll()``.
    public func readmit() {
        let endpoint = state.withLock { state -> ControlEndpoint? in
            state.isDismissing = false
            guard case .serving(let endpoint) = state.phase else { return nil }
            return endpoint
        }
        // Otherwise the socket is made anew at the next look at it.
        _ = try? endpoint?.restore()
    }

    /// Makes a socket file anew that was removed: an operator needs it most when files are being removed.
    private func watch(_ endpoint: ControlEndpoint) async {
        var losses = 0
        while (try? await Task.sleep(for: limits.socketCheckInterval)) != nil {
            do throws(ControlError) {
                let made = try endpoint.restore()
                if !made.isEmpty { restored(made) }
                losses = 0
            } catch {
                losses = yields() ? losses + 1 : 0
                // The other daemon may be about to be refused.
                guard losses == 2 else { continue }
                state.withLock { $0.loss = error }
                endpoint.listener.close()
                return
            }
        }
    }

    private func acceptAll(at endpoint: ControlEndpoint, in group: inout DiscardingTaskGroup) async -> ControlError? {
        var failuresInARow = 0
        while !Task.isCancelled {
            let listener = endpoint.listener
            do throws(NNGError) {
                let stream = try await listener.accept()
                state.withLock { $0.arriving += 1 }
                failuresInARow = 0
                // One after the other: the next connection waits in the kernel, at no cost.
                let holder = ConnectionTable.Holder.process(stream.peer?.processID ?? 0, user: stream.user)
                if let seat = await connections.seat(of: holder, close: { stream.close() }) {
                    group.addTask { await self.converse(on: stream, seat) }
                } else {
                    state.withLock { $0.arriving -= 1 }
                    stream.close()
                }
            } catch {
                if error.code == .closed { state.withLock { $0.acceptsNone = true } }
                if error.code == .canceled || error.code == .closed && isClosing { return nil }
                if let loss = state.withLock({ $0.loss }) { return loss }
                if error.code == .closed, endpoint.listener !== listener { continue }
                // A shortage of descriptors or memory passes, and so may a socket that can't be made anew; an operator is needed most then.
                // Ten seconds of any other error are a failure of the server.
                let passes: Set<NNGError.Code> = [.outOfFiles, .outOfMemory, .closed]
                failuresInARow += passes.contains(error.code) ? 0 : 1
                if failuresInARow == 100 { return ControlError(.failed, "no connection can be accepted any more: \(error)") }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        return nil
    }

    private var isClosing: Bool {
        state.withLock { state in
            if case .serving = state.phase { false } else { true }
        }
    }

    /// The time after which a connection on which a node has sent nothing is closed; a node sends something each second.
    private static let silenceLimit = Duration.seconds(5)

    /// Serves another node, which has proved its name, until the connection ends or the server is closed.
    ///
    /// The node passes operators' requests on. They share the memory of changes with those that come to the socket.
    func serve(_ connection: PairConnection, of node: String) async {
        guard let seat = await links.seat(of: .node(node), close: { connection.close() }) else { return connection.close() }
        defer { links.leave(seat) }
        guard let conversation = carryOut(on: connection, of: node, links, seat) else { return }
        await withDiscardingTaskGroup { group in
            group.addTask { if await conversation.hasFallenSilent(for: Self.silenceLimit) { connection.close() } }
            await conversation.run()
            group.cancelAll()
        }
        release(conversation)
    }

    /// Begins a conversation; closes the connection, and returns `nil`, when the server doesn't serve any more.
    private func carryOut(
        on connection: PairConnection,
        of node: String?,
        _ table: ConnectionTable,
        _ seat: ConnectionTable.Seat
    ) -> ControlConversation? {
        let conversation = ControlConversation(
            on: connection,
            node: node,
            roles: roles,
            handler: handler,
            ledger: ledger,
            intake: intake,
            connections: table,
            seat: seat,
            budgets: budgets
        )
        let isWelcome = state.withLock { state in
            guard case .serving = state.phase else { return false }
            state.conversations[ObjectIdentifier(conversation)] = conversation
            return true
        }
        if isWelcome { return conversation }
        connection.close()
        return nil
    }

    private func release(_ conversation: ControlConversation) {
        let isLast = state.withLock { state in
            state.conversations[ObjectIdentifier(conversation)] = nil
            guard case .closing = state.phase else { return false }
            return state.conversations.isEmpty
        }
        if isLast { drained.settle() }
    }

    private func converse(on stream: ByteStream, _ seat: ConnectionTable.Seat) async {
        defer { connections.leave(seat) }
        guard let conversation = await negotiate(on: stream, seat) else { return }
        await serve(conversation, seat)
        release(conversation)
    }

    /// Makes a conversation of a connection; `nil` when the peer speaks another protocol or went away, so that there is no one to answer, or the
    /// server has ended.
    private func negotiate(on stream: ByteStream, _ seat: ConnectionTable.Seat) async -> ControlConversation? {
        defer { state.withLock { $0.arriving -= 1 } }
        let negotiated = try? await PairConnection.negotiate(
            stream,
            maximumMessageSize: Self.maximumAnswerSize,
            maximumReceivedSize: Self.maximumReceivedSize,
            reservation: budgets.unfinished.reservation(of: .user(stream.user)) { stream.close() },
            timeout: limits.handshakeTimeout
        )
        guard let connection = negotiated else { return nil }
        guard let conversation = carryOut(on: connection, of: nil, connections, seat) else { return nil }
        if state.withLock({ $0.isDismissing }) { await conversation.dismiss() }
        return conversation
    }

    private func serve(_ conversation: ControlConversation, _ seat: ConnectionTable.Seat) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                while await self.connections.hasIdled(seat), await !conversation.endIdle() {}
            }
            await conversation.run()
            group.cancelAll()
        }
    }

    /// Waits until every conversation has ended, at most as long as the grace lasts.
    private func drain() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await self.drained.valueUnlessCancelled() }
            group.addTask { try? await Task.sleep(for: self.grace) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension ByteStream {
    /// The user at the other end, as in ``ControlPeer``.
    fileprivate var user: Int64 { peer.map { Int64($0.userID) } ?? -1 }
}
