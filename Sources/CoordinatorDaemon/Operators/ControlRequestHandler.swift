import Control
import Coordinators
import DaemonConfiguration
import Logging
import WireProtocol

/// The handler that carries operators' requests out on the tree.
struct ControlRequestHandler: ControlHandler {
    private let runtime: CoordinatorRuntime
    private let children: ConfiguredChildren
    private let cluster: ClusterMembership?
    private let keeper: ConfigurationKeeper
    private let dependents: DependentOperations
    private let shutdown: ShutdownSignal
    private let upgrade: Upgrade
    /// The description of the tree, made once for operators who ask at the same time.
    private let tree: SharedCall<JSONValue>
    /// The list of processes, shared likewise.
    private let processes: SharedCall<JSONValue>
    /// The list of this node's processes alone.
    private let ownProcesses: SharedCall<JSONValue>
    private let logs: ChildLogs
    private let events: EventLog
    private let audit: Audit
    private let interventions = Interventions()

    init(
        runtime: CoordinatorRuntime,
        children: ConfiguredChildren,
        cluster: ClusterMembership?,
        keeper: ConfigurationKeeper,
        shutdown: ShutdownSignal,
        upgrade: Upgrade,
        logs: ChildLogs,
        events: EventLog,
        logger: Logger
    ) {
        self.logs = logs
        self.events = events
        audit = Audit(events, logger: logger)
        self.runtime = runtime
        self.children = children
        self.cluster = cluster
        self.keeper = keeper
        dependents = DependentOperations(runtime: runtime, children: children)
        self.shutdown = shutdown
        self.upgrade = upgrade
        tree = SharedCall {
            var tree = children.complete(TreeNode(try await runtime.snapshot()))
            await cluster?.mark(&tree)
            return try ControlJSON.value(of: tree)
        }
        processes = SharedCall {
            var list = ProcessList(try await runtime.snapshot())
            await cluster?.complete(&list)
            return try ControlJSON.value(of: list)
        }
        ownProcesses = SharedCall {
            var list = ProcessList(try await runtime.snapshot())
            cluster?.mark(&list)
            return try ControlJSON.value(of: list)
        }
    }

    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue {
        try await audit.recording(operation, from: requester) { () async throws(ControlError) -> JSONValue in
            do {
                return try await perform(operation, from: requester)
            } catch {
                throw withholding(ControlError(error), operation, requester)
            }
        }
    }

    func refused(_ operation: ControlOperation, from requester: Requester, _ error: ControlError) {
        audit.refused(operation, from: requester, error)
    }

    /// Returns an error without what it quotes of the daemon's file, which isn't for everyone who may have it applied.
    private func withholding(_ error: ControlError, _ operation: ControlOperation, _ requester: Requester) -> ControlError {
        requester.foreignAccount == nil || operation.namesConfigurationFile ? error : error.withoutQuotation
    }

    func stream(
        _ operation: ControlOperation,
        from requester: Requester,
        to items: ItemWriter
    ) async throws(ControlError) -> JSONValue {
        if let result = try await cluster?.passOn(operation, from: requester, to: items, { audit.origin(of: requester, epoch: $0) }) {
            return result
        }
        if requester.passage != nil { try await cluster?.check(operation, from: requester) }
        audit.noteLook(operation, from: requester)
        return switch operation {
        case .onNode(let node, let question): try await stream(question, of: node, from: requester, to: items)
        case .logs(let query): try await logs.send(query, to: items)
        case .events(let query): try await events.send(query, to: items)
        default: throw ControlError(.invalidRequest, "`\(operation.name)` isn't a stream")
        }
    }

    private func stream(
        _ question: ControlOperation,
        of node: String,
        from requester: Requester,
        to items: ItemWriter
    ) async throws(ControlError) -> JSONValue {
        let origin = audit.origin(of: requester, epoch: 0)
        if let result = try await membership().stream(question, of: node, to: items, origin) { return result }
        return try await stream(question, from: requester, to: items)
    }

    /// Returns what a node of the cluster, which may be this one, has as a whole.
    private func answer(to question: ControlOperation, of node: String, for requester: Requester) async throws -> JSONValue {
        if let answer = try await membership().answer(to: question, of: node, audit.origin(of: requester, epoch: 0)) { return answer }
        if case .ps = question { return try await ownProcesses.value() }
        return try await perform(question, from: requester)
    }

    /// Returns what a rolling restart of a path replaces; of instances that other nodes have, what these say.
    private func replacements(of path: CoordinatorPath, for requester: Requester) async throws -> PathList {
        var elsewhere: [String: [CoordinatorPath]] = [:]
        if path.components.count == 1, let instances = path.components.first.flatMap({ children.instances[String($0)] }) {
            for key in await cluster?.keysElsewhere.intersection(instances) ?? [] {
                elsewhere[key] = await replacements(elsewhere: CoordinatorPath.root.appending(key), for: requester)
            }
        }
        return PathList(paths: try children.replacements(of: path, elsewhere: elsewhere).map(\.description))
    }

    private func replacements(elsewhere path: CoordinatorPath, for requester: Requester) async -> [CoordinatorPath] {
        do {
            let status = try ControlJSON.decode(TreeNode.self, from: try await perform(.status(path: path.description), from: requester))
            if [CoordinatorState.inactive, .failed].map(\.rawValue).contains(status.state) { return [] }
            let answer = try await perform(.replacements(path: path.description), from: requester)
            return try ControlJSON.decode(PathList.self, from: answer).paths.compactMap(CoordinatorPath.init)
        } catch let error as ControlError where error.code == .notRunning {
            return []
        } catch {
            // Its replacement will fail, and say why.
            return [path]
        }
    }

    private func history(_ path: CoordinatorPath) async throws -> LifeHistory {
        if let history = events.history(of: path.description) { return history }
        // The path may be that of a coordinator that no event was about.
        _ = try await status(path)
        return LifeHistory(path: path.description, lives: [])
    }

    /// Returns the daemon as a node of a cluster.
    private func membership() throws(ControlError) -> ClusterMembership {
        if let cluster { return cluster }
        throw ControlError(.invalidRequest, "this daemon is no node of a cluster: its configuration has no `cluster`")
    }

    private func perform(_ operation: ControlOperation, from requester: Requester) async throws -> JSONValue {
        if let answer = try await cluster?.passOn(operation, from: requester, { audit.origin(of: requester, epoch: $0) }) { return answer }
        try await cluster?.check(operation, from: requester)
        audit.noteLook(operation, from: requester)
        return switch operation {
        case .tree: try await tree.value()
        case .ps: try await requester.passage == nil ? processes.value() : ownProcesses.value()
        case .status(let path): try ControlJSON.value(of: await status(try place(path)))
        case .start(let path): try ControlJSON.value(of: await start(try place(path, operation)))
        case .stop(let path): try ControlJSON.value(of: await stop(try place(path, operation)))
        case .restart(let path): try ControlJSON.value(of: await restart(try place(path, operation)))
        case .replace(let path): try ControlJSON.value(of: await replace(try place(path, operation)))
        case .replacements(let path): try ControlJSON.value(of: await replacements(of: try place(path, operation), for: requester))
        case .scale(let path, let instances):
            try ControlJSON.value(of: await keeper.scale(try place(path, operation), to: instances))
        case .pause(let path): try ControlJSON.value(of: LifecycleResult(await runtime.pause(try place(path, operation))))
        case .resume(let path): try ControlJSON.value(of: LifecycleResult(await runtime.resume(try place(path, operation))))
        case .kill(let path): try ControlJSON.value(of: LifecycleResult(await kill(try place(path, operation))))
        case .ask(let path, let message, let payload, let timeout):
            try await ask(message, payload, at: try place(path), timeout: timeout)
        case .send(let path, let message, let payload):
            try ControlJSON.value(of: SendResult(delivered: await runtime.send(named: message, payload: payload, at: try place(path))))
        case .deadLetters:
            try ControlJSON.value(of: DeadLetterList(runtime.deadLetters))
        case .metrics:
            try ControlJSON.value(
                of: TreeMetrics(
                    runtime.askDurations,
                    unreadableEntries: await cluster?.unreadableCount,
                    clusterFiles: cluster?.files.description
                )
            )
        case .ping:
            [:]
        case .shutdown(let now):
            await endEverything(now: now)
        case .signal(let path, let signal):
            try ControlJSON.value(of: await SignalResult.sending(signal, to: try place(path, operation), in: runtime))
        case .trace(let path, let message, let payload, let timeout):
            try ControlJSON.value(of: await TraceResult.asking(message, payload, at: try place(path), timeout: timeout, in: runtime))
        case .configurationDifference(let file): try ControlJSON.value(of: await keeper.plan(file, for: requester))
        case .configurationApplication(let file): try ControlJSON.value(of: await keeper.apply(file, for: requester))
        case .upgrade(let executable, let wait, let isDryRun):
            try await upgrade.carryOut(
                Upgrade.Wish(executable: executable, wait: wait, isDryRun: isDryRun, requestID: requester.requestID)
            )
        case .logs, .events:
            throw ControlError(.invalidRequest, "`\(operation.name)` is a stream")
        case .history(let path): try ControlJSON.value(of: await history(try place(path)))
        case .onNode(let node, let question): try await answer(to: question, of: node, for: requester)
        case .nodes: try ControlJSON.value(of: await membership().nodes())
        case .whereabouts(let path): try ControlJSON.value(of: await membership().whereabouts(of: try place(path)))
        case .drain(let node, let isDraining): try ControlJSON.value(of: await membership().drain(node, isDraining))
        case .move(let path, let node): try ControlJSON.value(of: await membership().move(try place(path, operation), to: node))
        }
    }

    private func ask(_ message: String, _ payload: JSONValue, at path: CoordinatorPath, timeout: Duration) async throws -> JSONValue {
        let start = ContinuousClock.now
        let reply = try await runtime.ask(named: message, payload: payload, at: path, timeout: timeout)
        let duration = ContinuousClock.now - start
        return try ControlJSON.value(of: AskResult(reply: reply, durationMicroseconds: Int64(duration / .microseconds(1))))
    }

    private func endEverything(now: Bool) async -> JSONValue {
        if now {
            shutdown.hasten(.brutalKill)
        } else if shutdown.isRequested {
            // A second request means that the shutdown takes too long.
            shutdown.hasten(.timeout(ShutdownSignal.hurriedGrace))
        } else {
            shutdown.begin()
        }
        await shutdown.completed()
        return [:]
    }

    private func status(_ path: CoordinatorPath) async throws -> TreeNode {
        var node = try await knownStatus(path)
        await cluster?.mark(&node)
        return node
    }

    private func knownStatus(_ path: CoordinatorPath) async throws -> TreeNode {
        try await at(path) {
            let node = TreeNode(try await runtime.snapshot(of: path))
            if path.isRoot { return children.complete(node) }
            return children.place(of: path).flatMap { $0.siblings.group($0.child.key) }?.complete(node) ?? node
        } forgotten: { place in
            place.siblings.node(of: place.child, under: place.parent.description)
        }
    }

    private func stop(_ path: CoordinatorPath) async throws -> LifecycleResult {
        try await interventions.carryOut(at: path) {
            try await dependents.willStop(path)
            return try await at(path) {
                LifecycleResult(try await runtime.stop(path))
            } forgotten: { _ in
                LifecycleResult(path: path.description, state: "inactive", incarnation: 0)
            }
        }.0
    }

    private func restart(_ path: CoordinatorPath) async throws -> LifecycleResult {
        try await dependents.willStop(path)
        return try await began(path) {
            try await interventions.carryOut(at: path) { TreeNode(try await runtime.restart(path)) }
        }
    }

    private func replace(_ path: CoordinatorPath) async throws -> LifecycleResult {
        let (replaced, number) = try await interventions.carryOut(at: path) { TreeNode(try await runtime.replace(path)) }
        return try await outcome(of: replaced, path, since: number)
    }

    private func start(_ path: CoordinatorPath) async throws -> LifecycleResult {
        try await began(path) {
            let number = interventions.count
            return (TreeNode(try await runtime.start(path)), number)
        }
    }

    /// Starts a child with what it requires before it, and what was stopped with it after it.
    ///
    /// - Parameter known: Starts a child that supervision knows; returns it with the number after which other commands may have ended its life.
    private func began(
        _ path: CoordinatorPath,
        _ known: () async throws -> (TreeNode, since: UInt64)
    ) async throws -> LifecycleResult {
        try await dependents.willStart(path)
        let (started, number) = try await at(path, known) { place in
            let number = interventions.count
            try await dependents.startForgotten(place)
            return (try await status(path), number)
        }
        let result = try await outcome(of: started, path, since: number)
        try await dependents.didStart(path)
        return result
    }

    /// Waits until a started child has been up for the probation, or has ended, and returns the outcome.
    ///
    /// A program has no way to report that it is ready, and a child that was given up may fail again at once. A child that has been up for
    /// longer isn't waited for. The loop asks for the state again and again, because a child can be in another process's subtree.
    private func outcome(of started: TreeNode, _ path: CoordinatorPath, since number: UInt64) async throws -> LifecycleResult {
        var node = started
        let end = ContinuousClock.now + Self.probation
        var pause = Duration.milliseconds(20)
        while node.isOnProbation(started.incarnation, Self.probation), ContinuousClock.now < end {
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(200))
            // An ancestor may have ended since then; the child was started all the same.
            guard let next = try? await status(path) else { break }
            node = next
        }
        if node.hasFailed(since: started.incarnation) {
            guard !interventions.hasCome(after: number, at: path) else {
                throw ControlError(.notRunning, "\(path) was started, and another command has ended it before it had been up for a second")
            }
            let reason = node.lastExit ?? "for an unknown reason"
            throw ControlError(.failed, "\(path) was started and has ended at once: \(reason); look at its output")
        }
        return LifecycleResult(node)
    }

    /// Runs `known`, or `forgotten` when the path is that of a child in the file that supervision has forgotten.
    private func at<Value>(
        _ path: CoordinatorPath,
        _ known: () async throws -> Value,
        forgotten: (ConfiguredChildren.Place) async throws -> Value
    ) async throws -> Value {
        do {
            return try await known()
        } catch let error as CoordinatorError where [.noSuchPath, .noSuchChild, .stopped].contains(error.code) {
            // A group that doesn't run has stopped, and so nothing is known of its children.
            guard children.supervisor != nil, let place = children.place(of: path),
                place.siblings.supervisor?.state(of: place.child.key) == nil
            else { throw error }
            return try await forgotten(place)
        }
    }

    /// Kills the process of a node, waits for its end, and returns the node's state after it.
    private func kill(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot {
        try await interventions.carryOut(at: path) {
            var after = try await runtime.kill(path)
            let killed = after
            let end = ContinuousClock.now + .seconds(2)
            while after.processID == killed.processID, after.incarnation == killed.incarnation, ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(5))
                do {
                    after = try await runtime.snapshot(of: path)
                } catch let error as CoordinatorError where [.noSuchPath, .noSuchChild, .stopped].contains(error.code) {
                    // Its parent has removed the child, or the tree has ended.
                    (after.state, after.processID) = (.inactive, nil)
                }
            }
            return after
        }.0
    }

    /// The time that a child must be up for its start to have succeeded; supervisord's `startsecs`.
    private static let probation = Duration.seconds(1)

    /// Returns the path of a node below the root.
    ///
    /// - Parameter operation: the operation, which the node's parent carries out.
    private func place(_ text: String, _ operation: ControlOperation) throws(ControlError) -> CoordinatorPath {
        let path = try place(text)
        guard !path.isRoot else {
            throw ControlError(
                .invalidRequest,
                "/ has no parent that could \(operation.name) it; `coordinatorctl shutdown` ends the daemon, or name a path below"
            )
        }
        return path
    }

    private func place(_ text: String) throws(ControlError) -> CoordinatorPath {
        try CoordinatorPath(operand: text)
    }
}

extension ControlOperation {
    /// Whether the operation names a configuration file, which is then read as its requester.
    fileprivate var namesConfigurationFile: Bool {
        switch self {
        case .configurationDifference(let file), .configurationApplication(let file): file != nil
        default: false
        }
    }
}

extension TreeNode {
    private static let goodExits = Set([ExitReason.normal, .shutdown, .exited(code: 0)].map(\.description))

    /// Whether the life that was started is still within its probation.
    fileprivate func isOnProbation(_ life: UInt32, _ probation: Duration) -> Bool {
        switch state {
        case "failed", "restarting": false
        // The reason of its end is about to arrive.
        case "inactive": lastExit == nil
        default: incarnation == life && .milliseconds(uptimeMilliseconds) < probation
        }
    }

    /// Whether the life that was started has ended other than normally or by a stop.
    fileprivate func hasFailed(since life: UInt32) -> Bool {
        switch state {
        case "failed", "restarting": true
        case "inactive": lastExit.map { !Self.goodExits.contains($0) } ?? false
        default: incarnation != life && lastExit != ExitReason.shutdown.description
        }
    }
}

extension ControlError {
    init(_ error: any Error) {
        switch error {
        case let error as ControlError: self = error
        case let error as CoordinatorError: self.init(Code(error.code), error.message, maybeExecuted: error.maybeExecuted)
        // A handler has thrown it, or a hook.
        case let error as RemoteError: self.init(.failed, "\(error.type): \(error.description)", maybeExecuted: true)
        case is CancellationError: self.init(.cancelled, "the request was cancelled", maybeExecuted: true)
        default: self.init(.failed, "\(error)", maybeExecuted: true)
        }
    }
}

extension ControlError.Code {
    init(_ code: CoordinatorError.Code) {
        switch code {
        case .noSuchPath, .noSuchChild: self = .noSuchPath
        case .unhandled: self = .unhandled
        case .timedOut, .startTimedOut, .restarting: self = .timedOut
        case .stopped, .failed: self = .notRunning
        case .coding, .unsupported, .notAWorker: self = .invalidRequest
        default: self = .failed
        }
    }
}
