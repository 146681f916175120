import ConcurrencySupport
import NNG
import Processes
import WireProtocol

/// The server's side of one connection: it reads requests, has them carried out concurrently, and answers each when it has ended.
final class ControlConversation: Sendable {
    private struct OpenRequest {
        var operation: ControlOperation
        /// The bytes that it's counted with.
        var bytes: Int
        /// The signal that cancels the request's handler.
        var cancellation: OneShot<Void>
    }

    private struct State {
        var open: [Int64: OpenRequest] = [:]
        /// The requests that have ended and whose answers haven't been sent yet; their IDs are free again.
        var answering: [(id: Int64, operation: ControlOperation)] = []
        /// The reason why no request is taken any more.
        var end: ControlError?
        /// The time of the last message.
        var lastMessage = ContinuousClock.now

        var count: Int { open.count + answering.count }
        var descriptions: Int { open.values.count { $0.operation.isDescription } }
        var streams: [OpenRequest] { open.values.filter(\.operation.isStream) }
    }

    private let connection: PairConnection
    private let sender: MessageSender
    private let handler: any ControlHandler
    private let ledger: RequestLedger
    private let intake: RequestIntake
    /// The operator at the other end, or the reason why the connection isn't served; of a node only its requests name one.
    private let requester: Result<Requester, ControlError>
    /// The node at the other end, which has proved its name; nil: an operator.
    private let node: String?
    private let connections: ConnectionTable
    private let seat: ConnectionTable.Seat
    private let peer: ControlPeer
    private let budgets: ControlBudgets
    private let state = Lock(State())

    init(
        on connection: PairConnection,
        node: String? = nil,
        roles: OperatorRoles,
        handler: any ControlHandler,
        ledger: RequestLedger,
        intake: RequestIntake,
        connections: ConnectionTable,
        seat: ConnectionTable.Seat,
        budgets: ControlBudgets
    ) {
        self.connection = connection
        self.sender = MessageSender(on: connection)
        self.handler = handler
        self.ledger = ledger
        self.intake = intake
        requester = Result { () throws(ControlError) in try roles.requester(connection.peer) }
        self.node = node
        self.connections = connections
        self.seat = seat
        self.budgets = budgets
        peer = node.map { .node($0) } ?? .user(connection.peer.map { Int64($0.userID) } ?? -1)
    }

    /// Serves until the client goes away, `drain()` is done, or the task is cancelled; then waits for the requests that were begun.
    func run() async {
        await withTaskCancellationHandler {
            if node == nil, case .failure(let refusal) = requester {
                await send(ControlAnswer(id: nil, .failure(refusal)))
            } else {
                await withDiscardingTaskGroup { group in
                    await self.readRequests(in: &group)
                    self.abandonQuestions()
                }
            }
        } onCancel: {
            connection.close()
        }
        connection.close()
    }

    /// Ends the streams, and closes the connection as soon as no request is open.
    func drain() {
        let (isIdle, streams) = state.withLock { state in
            state.end = Self.stopping
            return (state.count == 0, state.streams)
        }
        for stream in streams { stream.cancellation.settle() }
        if isIdle { connection.close() }
    }

    /// Ends an idle connection and sends the client the reason, unless a request has just arrived; one that arrives later isn't carried out.
    ///
    /// - Returns: whether the connection was ended.
    func endIdle() async -> Bool {
        let isIdle = state.withLock { state in
            guard state.count == 0 else { return false }
            state.end = state.end ?? Self.idle
            return true
        }
        guard isIdle else { return false }
        await send(ControlAnswer(id: nil, .failure(Self.idle)))
        connection.close()
        return true
    }

    /// Tells the client that another program takes the daemon's place; what it has no answer to then wasn't carried out.
    func dismiss() async {
        // What was begun and isn't finished may have had an effect: it isn't to be made again.
        let begun = state.withLock { state in
            // Of one that has ended, the answer may come after this; when it comes before, this is skipped.
            (state.open.map { ($0.key, $0.value.operation) } + state.answering).filter { !$0.1.isStream && !$0.1.isUpgrade }.map(\.0)
        }
        for id in begun.sorted() { await send(ControlAnswer(id: id, .failure(RequestIntake.abandoned))) }
        await send(ControlAnswer(id: nil, .failure(RequestIntake.closed)))
    }

    /// Returns when nothing has come from the other end for too long.
    ///
    /// - Returns: false when the task was cancelled.
    func hasFallenSilent(for limit: Duration) async -> Bool {
        while true {
            let remaining = limit - (ContinuousClock.now - state.withLock { $0.lastMessage })
            guard remaining > .zero else { return true }
            do { try await Task.sleep(for: remaining) } catch { return false }
        }
    }

    private func readRequests(in group: inout DiscardingTaskGroup) async {
        while let message = try? await connection.receive() {
            state.withLock { $0.lastMessage = .now }
            var id: Int64?
            do throws(ControlError) {
                guard message.count <= ControlServer.maximumRequestSize else {
                    throw ControlError(
                        .invalidRequest,
                        "the request has \(message.count) bytes; at most \(ControlServer.maximumRequestSize) are read"
                    )
                }
                let json = try ControlJSON.parse(message)
                if case .integer(let number)? = json["id"] { id = number }
                if case .string("cancel")? = json["op"] {
                    let fields = try ControlRequest.fields(of: json)
                    let (id, target) = (try fields.integer("id"), try fields.integer("target"))
                    await send(ControlAnswer(id: id, .result(["cancelled": .bool(cancel(target))])))
                } else {
                    let request = node == nil ? try ControlRequest(json: json) : try ControlRequest(ofNode: json)
                    let cancellation = try admit(request, json.bytesInMemory)
                    group.addTask { await self.carryOut(request, cancellation) }
                }
            } catch {
                await send(ControlAnswer(id: id, .failure(error)))
            }
        }
    }

    /// The largest numbers of open requests; a node passes on those of several operators.
    private var mostRequests: Int { ControlServer.maximumOpenRequests * (node == nil ? 1 : 16) }
    private var mostDescriptions: Int { ControlServer.maximumOpenDescriptions * (node == nil ? 1 : 16) }

    private func admit(_ request: ControlRequest, _ bytes: Int) throws(ControlError) -> OneShot<Void> {
        let cancellation = OneShot<Void>()
        guard budgets.open.reserve(bytes, for: peer) else {
            throw ControlError(.failed, "the open requests of all clients have too many bytes; make the request again in a while")
        }
        let refusal = state.withLock { state -> ControlError? in
            if let end = state.end { return end }
            if state.open[request.id] != nil {
                return ControlError(.invalidRequest, "the request \(request.id) of this connection is still open; use another id")
            }
            if state.count >= mostRequests {
                return ControlError(.failed, "\(state.count) requests of this connection are open; wait for one of them")
            }
            if request.operation.isDescription, state.descriptions >= mostDescriptions {
                return ControlError(.failed, "\(state.descriptions) descriptions of this connection are open; wait for one of them")
            }
            if request.operation.isStream, state.streams.count >= ControlServer.maximumOpenStreams {
                return ControlError(.failed, "\(state.streams.count) streams of this connection are open; end one of them")
            }
            state.open[request.id] = OpenRequest(operation: request.operation, bytes: bytes, cancellation: cancellation)
            return nil
        }
        if let refusal {
            budgets.open.giveBack(bytes, of: peer)
            throw refusal
        }
        guard intake.admit(request.operation, cancellation) else {
            state.withLock { $0.open[request.id] = nil }
            budgets.open.giveBack(bytes, of: peer)
            throw RequestIntake.closed
        }
        connections.requestBegan(on: seat)
        return cancellation
    }

    private func cancel(_ id: Int64) -> Bool {
        let cancellation = state.withLock { $0.open[id]?.cancellation }
        return cancellation?.settle() ?? false
    }

    /// Cancels the open questions of a client that is gone; changes that were begun are carried out to their ends.
    private func abandonQuestions() {
        let questions = state.withLock { $0.open.values.filter(\.operation.endsWithItsRequester) }
        for question in questions { question.cancellation.settle() }
    }

    private func carryOut(_ request: ControlRequest, _ cancellation: OneShot<Void>) async {
        let outcome = await outcome(of: request, cancellation)
        // Before the answer is sent: a client that has read it may use the ID again at once.
        let bytes = state.withLock { state in
            state.answering.append((request.id, request.operation))
            return state.open.removeValue(forKey: request.id)?.bytes ?? 0
        }
        budgets.open.giveBack(bytes, of: peer)
        switch outcome {
        case .success(let result): await send(ControlAnswer(id: request.id, .result(result)))
        case .failure(let error): await send(ControlAnswer(id: request.id, .failure(error)))
        }
        intake.end(request.operation, cancellation)
        let isDone = state.withLock { state in
            if let index = state.answering.firstIndex(where: { $0.id == request.id }) { state.answering.remove(at: index) }
            return state.end != nil && state.count == 0
        }
        connections.requestEnded(on: seat)
        if isDone { connection.close() }
    }

    /// Runs the handler, and cancels it when the request is cancelled.
    private func outcome(of request: ControlRequest, _ cancellation: OneShot<Void>) async -> RequestLedger.Outcome {
        await withTaskGroup(of: RequestLedger.Outcome?.self) { group in
            group.addTask { await self.permitted(request) }
            group.addTask {
                _ = await cancellation.valueUnlessCancelled()
                return nil
            }
            var outcome: RequestLedger.Outcome?
            for await ended in group {
                outcome = outcome ?? ended
                group.cancelAll()
            }
            return outcome ?? .failure(ControlError(.cancelled, "the request was cancelled"))
        }
    }

    /// Carries a request out if the requester's role allows it; otherwise it isn't even told what became of an equal request of another one.
    private func permitted(_ request: ControlRequest) async -> RequestLedger.Outcome {
        if node != nil, case .ping = request.operation { return .success([:]) }
        // `run` has refused a connection without credentials.
        guard let requester = requester(of: request) else {
            return .failure(ControlError(.notPermitted, "the daemon can't tell who has made the request"))
        }
        guard let refusal = requester.refusal(of: request.operation) else { return await onlyOnce(request, from: requester) }
        handler.refused(request.operation, from: requester, refusal)
        return .failure(refusal)
    }

    /// Carries a request out; a change whose request ID was used before isn't made again but has the first one's outcome.
    private func onlyOnce(_ request: ControlRequest, from requester: Requester) async -> RequestLedger.Outcome {
        guard let requestID = request.requestID, request.operation.isMutating else { return await handle(request, from: requester) }
        switch ledger.openEntry(requestID, request.operation, of: peer) {
        case .execute:
            let outcome = await handle(request, from: requester)
            ledger.end(requestID, outcome)
            return outcome
        case .join(let shared):
            return await shared.valueUnlessCancelled() ?? .failure(Self.cancelled(maybeExecuted: true))
        case .conflict:
            let use = "the request id \(requestID) was used for another request, or by another user; use a new one"
            return .failure(ControlError(.invalidRequest, use))
        }
    }

    private func handle(_ request: ControlRequest, from requester: Requester) async -> RequestLedger.Outcome {
        do throws(ControlError) {
            guard request.operation.isStream else { return .success(try await handler.handle(request.operation, from: requester)) }
            let items = ItemWriter { items throws(ControlError) in try await self.send(items, of: request.id) }
            return .success(try await handler.stream(request.operation, from: requester, to: items))
        } catch {
            guard Task.isCancelled else { return .failure(error) }
            // To the requester this is a cancellation, whichever error the handler threw.
            if request.operation.isStream, intake.isClosed { return .failure(RequestIntake.closed) }
            let isStopping = request.operation.isStream && state.withLock { $0.end != nil }
            // A change may have been carried out, unless the handler's error proves that it wasn't.
            let maybeExecuted = request.operation.isMutating ? error.maybeExecuted ?? true : nil
            return .failure(isStopping ? Self.stopping : Self.cancelled(maybeExecuted: maybeExecuted))
        }
    }

    private static func cancelled(maybeExecuted: Bool?) -> ControlError {
        ControlError(.cancelled, "the request was cancelled", maybeExecuted: maybeExecuted)
    }

    private func requester(of request: ControlRequest) -> Requester? {
        var requester = try? requester.get()
        if let node {
            // That node has compared the operator's own role.
            requester = request.origin.map { origin in
                let passage = Requester.Passage(node: node, origin: origin)
                return Requester(processID: origin.processID, userID: origin.userID, role: .operate, passage: passage)
            }
        }
        requester?.requestID = request.requestID
        return requester
    }

    private static let idle = ControlError(.idle, "the daemon has ended this connection, which was idle; connect again")
    private static let stopping = ControlError(.unreachable, "the daemon is stopping")

    /// Sends items of a stream, and returns when the connection has taken them.
    private func send(_ items: [JSONValue], of id: Int64) async throws(ControlError) {
        let bytes = try ControlJSON.bytes(of: ControlAnswer(id: id, .items(items)).json)
        guard bytes.count <= ControlServer.maximumAnswerSize else {
            throw ControlError(.failed, "the stream's items have \(bytes.count) bytes; at most \(ControlServer.maximumAnswerSize) are sent")
        }
        if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
        guard budgets.unread.reserve(bytes.count, for: peer) else { throw Self.crowded }
        defer { budgets.unread.giveBack(bytes.count, of: peer) }
        // A task of its own, so that the stream's cancellation doesn't end the connection in the middle of a message. The connection's end
        // ends the task.
        let isSent = await Task { [sender] in (try? await sender.send { bytes }) != nil }.value
        if !isSent { throw ControlError(.unreachable, "the requester is gone") }
    }

    private static let crowded = ControlError(.failed, "too many answers wait to be read by their requesters; ask again in a while")

    /// Sends an answer; ignores a failure, because reading fails then too and ends the conversation.
    private func send(_ answer: ControlAnswer) async {
        // Text from now on, which is counted, and may wait behind other answers: the values have many times its bytes.
        var bytes = Self.bytes(of: answer)
        var taken = bytes.count
        if !budgets.unread.reserve(taken, for: peer) {
            bytes = Self.bytes(of: ControlAnswer(id: answer.id, .failure(Self.crowded)))
            taken = 0
        }
        try? await sender.send { bytes }
        budgets.unread.giveBack(taken, of: peer)
    }

    /// Returns the answer as JSON text, or an answer with the reason when it can't be sent.
    private static func bytes(of answer: ControlAnswer) -> [UInt8] {
        do throws(ControlError) {
            let bytes = try ControlJSON.bytes(of: answer.json)
            guard bytes.count > ControlServer.maximumAnswerSize else { return bytes }
            throw ControlError(
                .failed,
                "the answer has \(bytes.count) bytes; at most \(ControlServer.maximumAnswerSize) are sent (ask for a part of the tree)"
            )
        } catch {
            return (try? ControlJSON.bytes(of: ControlAnswer(id: answer.id, .failure(error)).json)) ?? []
        }
    }
}
