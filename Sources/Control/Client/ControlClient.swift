import ConcurrencySupport
import NNG
public import Processes
public import WireProtocol

/// An operator's connection to a daemon.
///
/// Calls can be made concurrently. The connection closes with the last reference to the client.
public final class ControlClient: Sendable {
    private typealias Outcome = Result<JSONValue, ControlError>

    /// An open call, with what waits for its answer.
    private enum Call {
        case answer(OneShot<Outcome>)
        case stream(ItemQueue)

        func end(_ outcome: Outcome) {
            switch self {
            case .answer(let answer): answer.settle(outcome)
            case .stream(let queue): queue.end(outcome)
            }
        }
    }

    /// The open calls, shared with the reader, which must not keep the client alive.
    private final class Session: Sendable {
        let state: Lock<ControlSession<Call>>

        init(to socket: String) { state = Lock(ControlSession(to: socket)) }
    }

    private let connection: PairConnection
    private let sender: MessageSender
    private let socket: String
    private let session: Session
    private let abandoned: AsyncStream<Int64>.Continuation
    /// The task that reads answers and sends the daemon the cancellations of abandoned calls.
    ///
    /// `deinit` cancels it; the task can't be awaited there, and holds no reference to the client.
    private let background: Task<Void, Never>

    /// Connects to the daemon of a runtime directory; one that has no descriptor for the connection is asked again.
    ///
    /// - Throws: `.unreachable` when no daemon listens there, `.notPermitted` when this user may not open the socket, `.timedOut`.
    public static func connect(
        runtimeDirectory: RuntimeDirectory,
        timeout: Duration = ClientPatience.answerLimit
    ) async throws(ControlError) -> ControlClient {
        var patience = UpgradePatience(runtimeDirectory)
        while true {
            do throws(ControlError) {
                return try await connectOnce(runtimeDirectory, timeout)
            } catch {
                guard !Task.isCancelled, patience.allowsAnotherAttempt(after: error) else { throw error }
            }
            try? await Task.sleep(for: .microseconds(Int(UpgradePatience.pauseMicroseconds)))
        }
    }

    private static func connectOnce(
        _ runtimeDirectory: RuntimeDirectory,
        _ timeout: Duration
    ) async throws(ControlError) -> ControlClient {
        let socket = runtimeDirectory.controlSocket
        let deadline = ContinuousClock.now + timeout
        while true {
            do {
                let connection = try await PairConnection.dial(
                    "ipc://" + socket,
                    maximumMessageSize: ControlServer.maximumAnswerSize,
                    timeout: deadline - .now
                )
                return ControlClient(connection, socket: socket)
            } catch  where error.code == .connectionShut || error.code == .connectionReset {
                // A daemon that is short of descriptors closes connections, and has room for one soon.
                try? await Task.sleep(for: .microseconds(Int(UpgradePatience.pauseMicroseconds)))
            } catch {
                throw failure(error, socket: socket)
            }
        }
    }

    /// Takes over a connection on which a node has welcomed this one.
    ///
    /// - Parameter socket: The name of the other end, for messages.
    init(_ connection: PairConnection, socket: String) {
        let sender = MessageSender(on: connection)
        let (abandonedCalls, abandoned) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1024))
        self.connection = connection
        self.sender = sender
        self.socket = socket
        self.abandoned = abandoned
        session = Session(to: socket)
        background = Task { [session] in
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await id in abandonedCalls {
                        let cancel: JSONValue = [
                            "v": .integer(Int64(ControlRequest.currentVersion)), "id": 0, "op": "cancel", "target": .integer(id),
                        ]
                        if let bytes = try? ControlJSON.bytes(of: cancel) { try? await sender.send { bytes } }
                    }
                }
                await Self.read(connection, session, socket: socket)
                abandoned.finish()
            }
        }
    }

    deinit {
        close()
        background.cancel()
    }

    /// Ends the connection; open calls throw `.unreachable`.
    ///
    /// The second call does nothing.
    public func close() {
        connection.close()
    }

    /// Requests an operation and waits for its result.
    ///
    /// Each change gets a request ID, so that the daemon makes it once. When the task is cancelled or the time-out passes, the client
    /// cancels a question in the daemon; a change that has begun is carried out to its end.
    ///
    /// - Parameters:
    ///   - requestID: the request ID of a change that may have been requested before, on a connection that broke.
    ///   - timeout: the time to wait for the answer. The default is ten seconds, for an ask two seconds more than its own time-out, and for what
    ///     waits for children, which have times of their own, as long as the daemon answers questions.
    /// - Throws: the daemon's error, `.timedOut`, `.cancelled`, or `.unreachable` when the daemon goes away before it answers.
    public func call(
        _ operation: ControlOperation,
        requestID: String? = nil,
        timeout: Duration? = nil
    ) async throws(ControlError) -> JSONValue {
        try await perform(operation, requestID: operation.isMutating ? requestID ?? operation.newRequestID() : nil, timeout)
    }

    /// Requests an operation that is never requested again, and waits for its result.
    ///
    /// It has no request ID. The daemon remembers the outcomes of the last thousand or so changes of all operators; many calls of this
    /// function don't displace them, as those of ``call(_:requestID:timeout:)`` would. Everything else is as there.
    public func callOnce(_ operation: ControlOperation, timeout: Duration? = nil) async throws(ControlError) -> JSONValue {
        try await perform(operation, requestID: nil, timeout)
    }

    /// Whether the connection has ended, so that calls throw without reaching the daemon.
    public var hasEnded: Bool { end != nil }

    /// The error of calls after the connection's end, and of those that were open then.
    var end: ControlError? { session.state.withLock { $0.end } }

    func perform(
        _ operation: ControlOperation,
        requestID: String?,
        origin: RequestOrigin? = nil,
        _ timeout: Duration?
    ) async throws(ControlError) -> JSONValue {
        let answer = OneShot<Outcome>()
        let id = try register(.answer(answer))
        defer { session.state.withLock { $0.forget(id) } }
        let bytes = try ControlRequest(id: id, operation: operation, requestID: requestID, origin: origin).bytes()
        let limit = timeout ?? operation.defaultTimeout
        let outcome = await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { [sender] in
                // When sending fails, the connection has ended, and the reader ends the call with the reason.
                try? await sender.send { bytes }
                return await answer.valueUnlessCancelled()
            }
            group.addTask {
                guard let limit else {
                    await self.waitUntilSilent()
                    return nil
                }
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if let outcome { return try outcome.get() }
        if operation.endsWithItsRequester { abandoned.yield(id) }
        if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled", maybeExecuted: true) }
        throw limit.map { .noAnswer(from: socket, within: $0) } ?? silence
    }

    /// The error when ``waitUntilSilent()`` has returned.
    var silence: ControlError { .silent(at: socket) }

    /// Returns when the daemon doesn't answer a question in time.
    func waitUntilSilent() async {
        while (try? await Task.sleep(for: ClientPatience.interval)) != nil {
            do throws(ControlError) {
                _ = try await perform(.ping, requestID: nil, ClientPatience.answerLimit)
            } catch {
                // A refusal is an answer too.
                if [.timedOut, .unreachable].contains(error.code) { return }
            }
        }
    }

    private func register(_ call: Call) throws(ControlError) -> Int64 {
        try session.state.withLock { session in Result { () throws(ControlError) in try session.openCall(call) } }.get()
    }

    /// Requests a stream whose items a queue gets.
    ///
    /// - Returns: the number of the request.
    func sendCall(_ operation: ControlOperation, _ queue: ItemQueue, origin: RequestOrigin? = nil) async throws(ControlError) -> Int64 {
        let id = try register(.stream(queue))
        let bytes = try ControlJSON.bytes(of: ControlRequest(id: id, operation: operation, origin: origin).json)
        // When sending fails, the connection has ended, and the reader ends the stream with the reason.
        try? await sender.send { bytes }
        return id
    }

    /// Forgets a stream.
    func end(_ id: Int64, _ queue: ItemQueue) {
        session.state.withLock { $0.forget(id) }
        queue.abandon()
    }

    /// Has the daemon cancel a request.
    func abandon(_ id: Int64) { abandoned.yield(id) }

    private static func read(_ connection: PairConnection, _ session: Session, socket: String) async {
        var end = ControlError.daemonGone(from: socket)
        reading: while let message = try? await connection.receive() {
            let answer = ControlAnswer(message: message)
            switch session.state.withLock({ $0.advance(answer) }) {
            case .settled(let call, let outcome): call.end(outcome)
            case .items(.stream(let queue), let items): await queue.put(items)
            case .items(.answer, _), .skipped: break
            case .over(let error):
                end = error
                break reading
            }
        }
        connection.close()
        for call in session.state.withLock({ $0.end(with: end) }) { call.end(.failure(end)) }
    }

    private static func failure(_ error: NNGError, socket: String) -> ControlError {
        switch error.code {
        case .permissionDenied: .mayNotOpen(socket)
        case .timedOut: .takesNoConnections(at: socket)
        case .canceled: ControlError(.cancelled, "the request was cancelled")
        case .protocolError: .speaksAnotherProtocol(at: socket)
        default: .unreachable(at: socket)
        }
    }
}
