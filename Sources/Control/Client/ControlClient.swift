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
            var streams: [Int64: ItemQueue] = [:]
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

    /// Connects to the daemon of a runtime directory; one that has no descriptor for the connection is asked again.
    ///
    /// - Throws: `.unreachable` when no daemon listens there, `.notPermitted` when this user may not open the socket, `.timedOut`.
    public static func connect(
        runtimeDirectory: RuntimeDirectory,
        timeout: Duration = .seconds(5)
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
    public var hasEnded: Bool { end != nil }

    /// The error of calls after the connection's end, and of those that were open then.
    var end: ControlError? { calls.state.withLock { $0.end } }

    func perform(
        _ operation: ControlOperation,
        requestID: String?,
        origin: RequestOrigin? = nil,
        _ timeout: Duration?
    ) async throws(ControlError) -> JSONValue {
        let answer = OneShot<Outcome>()
        let id = try register(answer)
        defer { calls.state.withLock { $0.pending[id] = nil } }
        let request = ControlRequest(id: id, operation: operation, requestID: requestID, origin: origin)
        let bytes = try ControlJSON.bytes(of: request.json)
        try bytes.checkRequestSize()
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
        if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled", maybeExecuted: true) }
        throw .noAnswer(from: socket, within: limit)
    }

    private func register(_ answer: OneShot<Outcome>) throws(ControlError) -> Int64 {
        try register { state, id in state.pending[id] = answer }
    }

    private func register(_ enter: (inout Calls.State, Int64) -> Void) throws(ControlError) -> Int64 {
        let registration = calls.state.withLock { state -> Result<Int64, ControlError> in
            if let end = state.end { return .failure(end) }
            defer { state.nextID += 1 }
            enter(&state, state.nextID)
            return .success(state.nextID)
        }
        return try registration.get()
    }

    /// Requests a stream whose items a queue gets.
    ///
    /// - Returns: the number of the request.
    func begin(_ operation: ControlOperation, _ queue: ItemQueue, origin: RequestOrigin? = nil) async throws(ControlError) -> Int64 {
        let id = try register { state, id in state.streams[id] = queue }
        let bytes = try ControlJSON.bytes(of: ControlRequest(id: id, operation: operation, origin: origin).json)
        // When sending fails, the connection has ended, and the reader ends the stream with the reason.
        try? await sender.send { bytes }
        return id
    }

    /// Forgets a stream.
    func end(_ id: Int64, _ queue: ItemQueue) {
        calls.state.withLock { $0.streams[id] = nil }
        queue.abandon()
    }

    /// Has the daemon cancel a request.
    func abandon(_ id: Int64) { abandoned.yield(id) }

    private static func read(_ connection: PairConnection, _ calls: Calls, socket: String) async {
        var end = ControlError.daemonGone(from: socket)
        reading: while let message = try? await connection.receive() {
            guard let answer = (try? ControlJSON.parse(answer: message)).flatMap(ControlAnswer.init(json:)) else {
                end = .speaksAnotherProtocol(at: socket)
                break
            }
            switch (answer.id, answer.content) {
            case (let id?, .result(let value)): settle(id, .success(value), calls)
            case (let id?, .failure(let error)): settle(id, .failure(error), calls)
            case (nil, .failure(let error)):
                // The connection as a whole is refused.
                end = error
                break reading
            case (let id?, .items(let items)): await calls.state.withLock { $0.streams[id] }?.put(items)
            case (nil, .items), (nil, .result): break
            }
        }
        connection.close()
        let open = calls.state.withLock { state in
            state.end = end
            defer { (state.pending, state.streams) = ([:], [:]) }
            return (calls: Array(state.pending.values), streams: Array(state.streams.values))
        }
        for call in open.calls { call.settle(.failure(end)) }
        for stream in open.streams { stream.end(.failure(end)) }
    }

    private static func settle(_ id: Int64, _ outcome: Outcome, _ calls: Calls) {
        let (call, stream) = calls.state.withLock { ($0.pending.removeValue(forKey: id), $0.streams.removeValue(forKey: id)) }
        call?.settle(outcome)
        stream?.end(outcome)
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
