import ConcurrencySupport
import FoundationEssentials
import NNG
public import Processes
public import WireProtocol

/// An operator's connection to a daemon.
///
/// Calls can be made concurrently. The connection closes with the last reference to the client.
public final class ControlClient: Sendable {
    private typealias Outcome = Result<JSONValue, ControlError>

    /// The open calls, shared with the reader, which must not keep the client alive.
    private final class Calls: Sendable {
        struct State {
            var nextID: Int64 = 1
            var pending: [Int64: OneShot<Outcome>] = [:]
            /// The error of calls after the connection's end.
            var end: ControlError?
        }

        let state = Lock(State())
    }

    private let connection: PairConnection
    private let sender: MessageSender
    private let socket: String
    private let calls = Calls()
    private let abandoned: AsyncStream<Int64>.Continuation
    /// The task that reads answers and sends the daemon the cancellations of abandoned calls.
    ///
    /// `deinit` cancels it; the task can't be awaited there, and holds no reference to the client.
    private let background: Task<Void, Never>

    /// Connects to the daemon of a runtime directory.
    ///
    /// - Throws: `.unreachable` when no daemon listens there, `.notPermitted` when this user may not open the socket, `.timedOut`.
    public static func connect(
        runtimeDirectory: RuntimeDirectory,
        timeout: Duration = .seconds(5)
    ) async throws(ControlError) -> ControlClient {
        let socket = runtimeDirectory.controlSocket
        do {
            let connection = try await PairConnection.dial(
                "ipc://" + socket,
                maximumMessageSize: ControlServer.maximumAnswerSize,
                timeout: timeout
            )
            return ControlClient(connection, socket: socket)
        } catch {
            throw failure(error, socket: socket)
        }
    }

    private init(_ connection: PairConnection, socket: String) {
        let sender = MessageSender(on: connection)
        let (abandonedCalls, abandoned) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1024))
        self.connection = connection
        self.sender = sender
        self.socket = socket
        self.abandoned = abandoned
        background = Task { [calls] in
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await id in abandonedCalls {
                        let cancel: JSONValue = [
                            "v": .integer(Int64(ControlRequest.currentVersion)), "id": 0, "op": "cancel", "target": .integer(id),
                        ]
                        if let bytes = try? ControlJSON.bytes(of: cancel) { try? await sender.send { bytes } }
                    }
                }
                await Self.read(connection, calls, socket: socket)
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
    ///   - timeout: the time to wait for the answer. The default is ten seconds, a minute for an operation on a lifecycle, and for an ask
    ///     two seconds more than its own time-out.
    /// - Throws: the daemon's error, `.timedOut`, `.cancelled`, or `.unreachable` when the daemon goes away before it answers.
    public func call(
        _ operation: ControlOperation,
        requestID: String? = nil,
        timeout: Duration? = nil
    ) async throws(ControlError) -> JSONValue {
        try await perform(operation, requestID: operation.isMutating ? requestID ?? UUID().uuidString : nil, timeout)
    }

    /// Requests an operation that is never requested again, and waits for its result.
    ///
    /// It has no request ID. The daemon remembers the outcomes of the last thousand or so changes of all operators; many calls of this
    /// function don't displace them, as those of ``call(_:requestID:timeout:)`` would. Everything else is as there.
    public func callOnce(_ operation: ControlOperation, timeout: Duration? = nil) async throws(ControlError) -> JSONValue {
        try await perform(operation, requestID: nil, timeout)
    }

    /// Whether the connection has ended, so that calls throw without reaching the daemon.
    public var hasEnded: Bool { calls.state.withLock { $0.end != nil } }

    private func perform(
        _ operation: ControlOperation,
        requestID: String?,
        _ timeout: Duration?
    ) async throws(ControlError) -> JSONValue {
        let answer = OneShot<Outcome>()
        let id = try register(answer)
        defer { calls.state.withLock { $0.pending[id] = nil } }
        let request = ControlRequest(id: id, operation: operation, requestID: requestID)
        let bytes = try ControlJSON.bytes(of: request)
        guard bytes.count <= ControlServer.maximumRequestSize else {
            throw ControlError(
                .invalidRequest,
                "the request has \(bytes.count) bytes; the daemon reads at most \(ControlServer.maximumRequestSize)"
            )
        }
        let limit = timeout ?? operation.defaultTimeout
        let outcome = await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { [sender] in
                // When sending fails, the connection has ended, and the reader ends the call with the reason.
                try? await sender.send { bytes }
                return await answer.valueUnlessCancelled()
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if let outcome { return try outcome.get() }
        if operation.endsWithItsRequester { abandoned.yield(id) }
        if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
        throw ControlError(
            .timedOut,
            "no answer from the daemon at \(socket) within \(limit.briefText); it may still be carrying the request out"
        )
    }

    private func register(_ answer: OneShot<Outcome>) throws(ControlError) -> Int64 {
        let registration = calls.state.withLock { state -> Result<Int64, ControlError> in
            if let end = state.end { return .failure(end) }
            defer { state.nextID += 1 }
            state.pending[state.nextID] = answer
            return .success(state.nextID)
        }
        return try registration.get()
    }

    private static func read(_ connection: PairConnection, _ calls: Calls, socket: String) async {
        var end = ControlError(.unreachable, "the daemon at \(socket) went away before it answered; look at its log, and whether it runs")
        reading: while let message = try? await connection.receive() {
            guard let answer = (try? ControlJSON.parse(answer: message)).flatMap(ControlAnswer.init(json:)) else {
                end = ControlError(.failed, "what answers at \(socket) doesn't speak the control protocol")
                break
            }
            switch (answer.id, answer.content) {
            case (let id?, .result(let value)): settle(id, .success(value), calls)
            case (let id?, .failure(let error)): settle(id, .failure(error), calls)
            case (nil, .failure(let error)):
                // The connection as a whole is refused.
                end = error
                break reading
            case (_, .item), (nil, .result): break
            }
        }
        connection.close()
        let open = calls.state.withLock { state in
            state.end = end
            defer { state.pending = [:] }
            return state.pending.values
        }
        for call in open { call.settle(.failure(end)) }
    }

    private static func settle(_ id: Int64, _ outcome: Outcome, _ calls: Calls) {
        let call = calls.state.withLock { $0.pending.removeValue(forKey: id) }
        call?.settle(outcome)
    }

    private static func failure(_ error: NNGError, socket: String) -> ControlError {
        switch error.code {
        case .permissionDenied:
            ControlError(.notPermitted, "you may not open \(socket); only the user who started the daemon may")
        case .timedOut:
            ControlError(.timedOut, "the daemon doesn't take connections at \(socket); it may be stopped or overloaded")
        case .canceled:
            ControlError(.cancelled, "the request was cancelled")
        case .protocolError:
            ControlError(.failed, "what answers at \(socket) doesn't speak the control protocol")
        default:
            ControlError(
                .unreachable,
                "the daemon isn't reachable at \(socket); start it with `coordinatord --config FILE`, or name its runtime directory with --runtime-dir"
            )
        }
    }
}
