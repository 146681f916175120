import ConcurrencySupport
import Control
import Coordinators
import Processes
import WireProtocol

/// An operation that the daemon carries out; each of ``ControlOperation/all`` is one, or the daemon doesn't compile.
protocol CarriedOutOperation: DescribedOperation {
    /// Carries the operation out.
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<Answer>
}

/// A request of an operator, with what carries it out.
struct OperatorCall {
    let daemon: ControlRequestHandler
    let requester: Requester
    /// The stream that the requester gets; nil when it gets an answer alone.
    var items: ItemWriter?
}

/// An answer in the form of the wire.
struct Encoded<Answer: Codable & Sendable>: Sendable {
    let json: JSONValue

    init(_ answer: Answer) throws(ControlError) { json = try ControlJSON.value(of: answer) }

    /// Takes what another node has answered, or what ends a stream, as it is.
    init(json: JSONValue) { self.json = json }
}

/// The handlers of all operations, by name.
struct OperationHandlers: Sendable {
    typealias Handler = @Sendable (ControlOperation, OperatorCall) async throws -> JSONValue

    private var handlers: [String: Handler] = [:]

    /// Takes the handler of each operation of the list.
    init<each Operation: CarriedOutOperation>(_ operations: OperationList<repeat each Operation>) {
        repeat add((each Operation).self)
    }

    private mutating func add<Operation: CarriedOutOperation>(_ type: Operation.Type) {
        handlers[type.name] = { operation, call in
            guard let operation = operation.content as? Operation else {
                preconditionFailure("\(operation) has another type than its name's")
            }
            return try await operation.carriedOut(call).json
        }
    }

    func carryOut(_ operation: ControlOperation, _ call: OperatorCall) async throws -> JSONValue {
        guard let handler = handlers[operation.name] else {
            throw ControlError(.invalidRequest, "this daemon has no operation `\(operation.name)`")
        }
        return try await handler(operation, call)
    }
}

// MARK: - Looking

extension ControlOperation.Tree: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<TreeNode> { try await call.daemon.tree.value() }
}

extension ControlOperation.ProcessListing: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<ProcessList> {
        try await call.requester.passage == nil ? call.daemon.processes.value() : call.daemon.ownProcesses.value()
    }
}

extension ControlOperation.Status: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<TreeNode> {
        try Encoded(await call.daemon.status(try CoordinatorPath(operand: path)))
    }
}

extension ControlOperation.History: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifeHistory> {
        try Encoded(await call.daemon.history(try CoordinatorPath(operand: path)))
    }
}

extension ControlOperation.Events: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<ControlEvent> {
        Encoded(json: try await call.daemon.events.send(query, to: call.stream(Self.self)))
    }
}

extension ControlOperation.Logs: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LogLine> {
        Encoded(json: try await call.daemon.logs.send(query, to: call.stream(Self.self)))
    }
}

extension OperatorCall {
    /// Returns the stream that a request has asked for.
    fileprivate func stream(_ operation: (some DescribedOperation).Type) throws(ControlError) -> ItemWriter {
        guard let items else { throw ControlError(.invalidRequest, "`\(operation.name)` is a stream") }
        return items
    }
}

extension ControlOperation.DeadLetters: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<DeadLetterList> {
        try Encoded(DeadLetterList(call.daemon.runtime.deadLetters))
    }
}

extension ControlOperation.Metrics: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<TreeMetrics> {
        let cluster = call.daemon.cluster
        let unreadable = await cluster?.unreadableCount
        let durations = call.daemon.runtime.askDurations
        var metrics = TreeMetrics(durations, unreadableEntries: unreadable, clusterFiles: cluster?.files.description)
        metrics.cluster = await cluster?.standing
        metrics.logsInMemory = call.daemon.logs.directoryInMemory
        metrics.fileSystemHangs = ProcessSpawner.fileSystemHangs
        return try Encoded(metrics)
    }
}

extension ControlOperation.Ping: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<JSONValue> { Encoded(json: [:]) }
}

// MARK: - Lifecycles

extension ControlOperation.Start: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> { try Encoded(await call.daemon.start(child(path))) }
}

extension ControlOperation.Stop: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> { try Encoded(await call.daemon.stop(child(path))) }
}

extension ControlOperation.Restart: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> { try Encoded(await call.daemon.restart(child(path))) }
}

extension ControlOperation.Replace: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> { try Encoded(await call.daemon.replace(child(path))) }
}

extension ControlOperation.Replacements: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<PathList> {
        try Encoded(await call.daemon.replacements(of: child(path), for: call.requester))
    }
}

extension ControlOperation.Scale: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<ScaleResult> {
        try Encoded(await call.daemon.keeper.scale(child(path), to: instances))
    }
}

extension ControlOperation.Kill: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> {
        try Encoded(LifecycleResult(await call.daemon.kill(child(path))))
    }
}

extension ControlOperation.Pause: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> {
        try Encoded(LifecycleResult(await call.daemon.runtime.pause(child(path))))
    }
}

extension ControlOperation.Resume: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> {
        try Encoded(LifecycleResult(await call.daemon.runtime.resume(child(path))))
    }
}

extension ControlOperation.Signal: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<SignalResult> {
        try Encoded(await SignalResult.sending(signal, to: child(path), in: call.daemon.runtime))
    }
}

extension ControlOperation.Reload: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<LifecycleResult> {
        try Encoded(LifecycleResult(await call.daemon.runtime.reload(child(path))))
    }
}

extension CarriedOutOperation {
    /// Returns the path of a node below the root, whose parent carries the operation out.
    fileprivate func child(_ text: String) throws(ControlError) -> CoordinatorPath {
        let path = try CoordinatorPath(operand: text)
        guard !path.isRoot else {
            throw ControlError(
                .invalidRequest,
                "/ has no parent that could \(Self.name) it; `coordinatorctl shutdown` ends the daemon, or name a path below"
            )
        }
        return path
    }
}

// MARK: - Messages

extension ControlOperation.Ask: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<AskResult> {
        let place = try CoordinatorPath(operand: path)
        let start = ContinuousClock.now
        let reply = try await call.daemon.runtime.ask(named: message, payload: payload, at: place, timeout: timeout)
        let duration = ContinuousClock.now - start
        return try Encoded(AskResult(reply: reply, durationMicroseconds: duration.wholeMicroseconds))
    }
}

extension ControlOperation.Trace: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<TraceResult> {
        let place = try CoordinatorPath(operand: path)
        return try Encoded(await TraceResult.asking(message, payload, at: place, timeout: timeout, in: call.daemon.runtime))
    }
}

extension ControlOperation.Send: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<SendResult> {
        let place = try CoordinatorPath(operand: path)
        return try Encoded(SendResult(delivered: await call.daemon.runtime.send(named: message, payload: payload, at: place)))
    }
}

// MARK: - Durable flows

extension ControlOperation.Flows: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<FlowList> {
        let meant = try selection.map { text throws(ControlError) in
            guard let selection = FlowStore.Selection(rawValue: text) else {
                let known = FlowStore.Selection.allCases.map(\.rawValue).joined(separator: ", ")
                throw ControlError(.invalidRequest, "there is no selection '\(text)' of flows: it's one of \(known)")
            }
            return selection
        }
        let listing = try await call.daemon.runtime.flows(
            below: try CoordinatorPath(operand: path),
            meant,
            after: try after.map { text throws(ControlError) in try CoordinatorPath(operand: text) },
            limit: limit ?? 1_000
        )
        return try Encoded(
            FlowList(
                flows: listing.entries.map { FlowList.Entry($0) },
                next: listing.next?.description,
                unanswered: listing.unanswered.isEmpty ? nil : listing.unanswered.map(\.description)
            )
        )
    }
}

extension ControlOperation.Flow: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<FlowList.Entry> {
        try Encoded(FlowList.Entry(await call.daemon.runtime.flow(try CoordinatorPath(operand: path))))
    }
}

extension ControlOperation.FlowState: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<FlowList.Entry> {
        try Encoded(FlowList.Entry(await call.daemon.runtime.flow(try CoordinatorPath(operand: path), withState: true)))
    }
}

extension ControlOperation.FlowRetry: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<FlowList.Entry> {
        try Encoded(FlowList.Entry(await call.daemon.runtime.retryFlow(try CoordinatorPath(operand: path))))
    }
}

extension ControlOperation.FlowSkip: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<FlowList.Entry> {
        try Encoded(FlowList.Entry(await call.daemon.runtime.skipFlow(try CoordinatorPath(operand: path), page: page, state: state)))
    }
}

extension ControlOperation.FlowCancel: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<FlowList.Entry> {
        let place = try CoordinatorPath(operand: path)
        return try Encoded(FlowList.Entry(await call.daemon.runtime.cancelFlow(place, because: reason ?? "cancelled by an operator")))
    }
}

extension ControlOperation.FlowResume: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<FlowList.Entry> {
        try Encoded(FlowList.Entry(await call.daemon.runtime.resumeFlow(try CoordinatorPath(operand: path))))
    }
}

extension FlowList.Entry {
    init(_ entry: FlowStore.Entry) {
        let flow = entry.flow
        self.init(
            path: entry.path.description,
            type: flow.type,
            status: flow.status.rawValue,
            pages: flow.pages,
            pageNumber: flow.pageNumber,
            error: flow.error,
            failures: flow.failures,
            outgoing: flow.outgoing,
            due: flow.due.map { Timestamp.text(microseconds: $0.nanoseconds / 1_000) },
            changed: Timestamp.text(microseconds: flow.changed.nanoseconds / 1_000),
            state: flow.state
        )
    }
}

// MARK: - The daemon

extension ControlOperation.ConfigurationDifference: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<ConfigurationChanges> {
        try Encoded(await call.daemon.keeper.plan(file, for: call.requester))
    }
}

extension ControlOperation.ConfigurationApplication: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<ConfigurationChanges> {
        try Encoded(await call.daemon.keeper.apply(file, for: call.requester))
    }
}

extension ControlOperation.Shutdown: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<JSONValue> {
        let shutdown = call.daemon.shutdown
        if now {
            shutdown.hasten(.brutalKill)
        } else if shutdown.isRequested {
            // A second request means that the shutdown takes too long.
            shutdown.hasten(.timeout(ShutdownSignal.hurriedGrace))
        } else {
            shutdown.request()
        }
        await shutdown.completed()
        return Encoded(json: [:])
    }
}

extension ControlOperation.Upgrade: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<UpgradeResult> {
        let wish = CoordinatorDaemon.Upgrade.Request(
            executable: executable,
            wait: wait,
            isDryRun: isDryRun,
            requestID: call.requester.requestID
        )
        return Encoded(json: try await call.daemon.upgrade.carryOut(wish))
    }
}

// MARK: - The cluster

extension ControlOperation.Nodes: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<NodeList> { try Encoded(await call.daemon.membership().nodes()) }
}

extension ControlOperation.Where: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<SubtreeLocation> {
        try Encoded(await call.daemon.membership().location(of: try CoordinatorPath(operand: path)))
    }
}

extension ControlOperation.Drain: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<NodeList> {
        try Encoded(await call.daemon.membership().drain(node, isDraining))
    }
}

extension ControlOperation.Move: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<SubtreeLocation> {
        try Encoded(await call.daemon.membership().move(child(path), to: node))
    }
}

extension ControlOperation.OnNode: CarriedOutOperation {
    func carriedOut(_ call: OperatorCall) async throws -> Encoded<JSONValue> {
        Encoded(json: try await call.daemon.answer(to: question, of: node, call))
    }
}
