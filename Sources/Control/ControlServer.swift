import ConcurrencySupport
import Glibc
import NNG

/// Listens at a control socket and passes operators' requests to a handler.
///
/// Each connection has its own task, and each request too, so neither a slow client nor a slow request keeps others waiting. What isn't
/// a request gets an error as its answer and the connection stays; what isn't even a message ends that connection and no other.
public final class ControlServer: Sendable {
    /// The largest request.
    public static let maximumRequestSize = 1 << 20
    /// What is read of a request that is too large, to say so; more ends the connection.
    static let maximumReceivedSize = maximumRequestSize * 2
    /// The largest answer: a tree of some hundred thousand coordinators.
    public static let maximumAnswerSize = 64 << 20
    /// How many requests of one connection may be open at a time; more are refused.
    public static let maximumOpenRequests = 256
    /// How many of them may describe the tree or a part of it, which costs most.
    public static let maximumOpenDescriptions = 64

    private enum Phase {
        /// Can transition to: listening by `listen()`, closed by `close()`.
        case idle
        /// Bound, nobody is served yet. Can transition to: serving by `run()`, closed by `close()`.
        case listening(ControlEndpoint)
        /// Can transition to: closing by `close()`, closed when `run()` is cancelled or fails.
        case serving(ControlEndpoint)
        /// What has been asked is still answered. Can transition to: closed when all is answered or the grace is over.
        case closing
        /// The socket file is gone.
        case closed
    }

    private struct State {
        var phase = Phase.idle
        var conversations: [ObjectIdentifier: ControlConversation] = [:]
    }

    private let path: String
    private let handler: any ControlHandler
    private let allowedUserIDs: Set<UInt32>
    private let grace: Duration
    private let limits: ConnectionLimits
    private let connections: ConnectionTable
    private let budget: AnswerBudget
    private let ledger = RequestLedger()
    private let state = Lock(State())
    /// Set when the server is closing and its last conversation has ended.
    private let drained = OneShot<Void>()

    /// Creates a server; nothing is touched before ``listen()``.
    ///
    /// - Parameters:
    ///   - path: the socket, such as ``RuntimeDirectory/controlSocket``. Its directory is made with mode 0700 when it is missing.
    ///   - handler: carries the requests out.
    ///   - allowedUserIDs: the users who may connect; the kernel says who they are. Nil: the user of this process.
    ///   - grace: how long after ``close()`` what was asked may take to be answered.
    ///   - limits: how many connections there may be, and for how long.
    public init(
        path: String,
        handler: any ControlHandler,
        allowedUserIDs: Set<UInt32>? = nil,
        grace: Duration = .seconds(2),
        limits: ConnectionLimits = ConnectionLimits()
    ) {
        self.limits = limits
        connections = ConnectionTable(limits)
        budget = AnswerBudget(maximum: limits.maximumUnreadBytes)
        self.path = path
        self.handler = handler
        self.allowedUserIDs = allowedUserIDs ?? [geteuid()]
        self.grace = grace
    }

    /// Takes the runtime directory and begins to listen; operators who connect now are served once ``run()`` runs.
    ///
    /// A daemon calls this before it starts anything, to learn that it is the only one. Calling it again does nothing.
    ///
    /// - Throws: `.alreadyRunning` with the other daemon's pid, `.notPermitted` when the directory isn't ours alone, `.failed` for the rest.
    public func listen() throws(ControlError) {
        // Under the lock, so that two calls don't make two endpoints; nothing in it waits for anybody.
        let failure = state.withLock { state -> ControlError? in
            guard case .idle = state.phase else { return nil }
            do throws(ControlError) {
                state.phase = .listening(try ControlEndpoint(path: path))
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Serves until ``close()`` is called or the task is cancelled.
    ///
    /// After a close, what is still open is answered, as long as the grace lasts; a cancellation cancels the open requests too. The socket
    /// file is gone when it returns.
    ///
    /// - Throws: what ``listen()`` throws, and `.failed` when no connection can be accepted any more.
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

    /// Ends ``run()``: nobody is accepted any more, nothing new is read, what was asked is answered.
    ///
    /// Returns at once; idempotent.
    public func close() {
        let (previous, conversations) = state.withLock { state in
            let previous = state.phase
            switch previous {
            case .idle, .listening: state.phase = .closed
            case .serving: state.phase = .closing
            case .closing, .closed: break
            }
            return (previous, Array(state.conversations.values))
        }
        switch previous {
        case .listening(let endpoint): endpoint.remove()
        case .serving(let endpoint):
            endpoint.listener.close()
            if conversations.isEmpty { drained.settle() }
            for conversation in conversations { conversation.drain() }
        case .idle, .closing, .closed: break
        }
    }

    /// A socket file that somebody has removed is made anew: an operator needs it most when things are removed.
    private func watch(_ endpoint: ControlEndpoint) async {
        while (try? await Task.sleep(for: limits.socketCheckInterval)) != nil { endpoint.restore() }
    }

    private func acceptAll(at endpoint: ControlEndpoint, in group: inout DiscardingTaskGroup) async -> ControlError? {
        var failuresInARow = 0
        while !Task.isCancelled {
            let listener = endpoint.listener
            do throws(NNGError) {
                let stream = try await listener.accept()
                failuresInARow = 0
                // One after the other: who comes next waits in the kernel, and costs nothing.
                if let seat = await connections.seat(processID: stream.peer?.processID ?? 0, close: { stream.close() }) {
                    group.addTask { await self.converse(on: stream, seat) }
                } else {
                    stream.close()
                }
            } catch {
                if error.code == .canceled || error.code == .closed && isClosing { return nil }
                if error.code == .closed, endpoint.listener !== listener { continue }
                // Out of descriptors or memory, or a socket that can't be made anew: that passes, and the operator is needed most then.
                // Ten seconds of anything else don't.
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

    private func converse(on stream: ByteStream, _ seat: ConnectionTable.Seat) async {
        defer { connections.leave(seat) }
        do throws(NNGError) {
            let connection = try await PairConnection.negotiate(
                stream,
                maximumMessageSize: Self.maximumAnswerSize,
                maximumReceivedSize: Self.maximumReceivedSize,
                timeout: limits.handshakeTimeout
            )
            let conversation = ControlConversation(
                on: connection,
                handler: handler,
                ledger: ledger,
                connections: connections,
                seat: seat,
                budget: budget
            )
            let isWelcome = state.withLock { state in
                guard case .serving = state.phase else { return false }
                state.conversations[ObjectIdentifier(conversation)] = conversation
                return true
            }
            guard isWelcome else { return connection.close() }
            await serve(conversation, seat)
            let isLast = state.withLock { state in
                state.conversations[ObjectIdentifier(conversation)] = nil
                guard case .closing = state.phase else { return false }
                return state.conversations.isEmpty
            }
            if isLast { drained.settle() }
        } catch {
            // It spoke another protocol, or went away: nobody is there to be told.
        }
    }

    private func serve(_ conversation: ControlConversation, _ seat: ConnectionTable.Seat) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                while await self.connections.hasIdled(seat), await !conversation.endIdle() {}
            }
            await conversation.run(allowedUserIDs: allowedUserIDs)
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
