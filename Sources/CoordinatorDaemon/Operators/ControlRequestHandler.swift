import Control
import Coordinators
import DaemonConfiguration
import Logging
import WireProtocol

/// The handler that carries operators' requests out on the tree.
struct ControlRequestHandler: ControlHandler {
    let runtime: CoordinatorRuntime
    private let children: ConfiguredChildren
    let cluster: ClusterMembership?
    let keeper: ConfigurationKeeper
    private let dependents: DependentOperations
    let shutdown: ShutdownSignal
    let upgrade: Upgrade
    /// The description of the tree, made once for operators who ask at the same time.
    let tree: SharedCall<Encoded<TreeNode>>
    /// The list of processes, shared likewise.
    let processes: SharedCall<Encoded<ProcessList>>
    /// The list of this node's processes alone.
    let ownProcesses: SharedCall<Encoded<ProcessList>>
    let logs: ChildLogs
    let events: EventLog
    private static let handlers = OperationHandlers(ControlOperation.all)
    private let standing: StandingFile
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
        standing: StandingFile,
        logger: Logger
    ) {
        self.standing = standing
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
            var tree = children.complete(TreeNode(try await runtime.snapshot())).adding(children.untilNextRuns).adding(events)
            await cluster?.mark(&tree)
            return try Encoded(tree)
        }
        processes = SharedCall {
            var list = ProcessList(try await runtime.snapshot())
            await cluster?.complete(&list)
            return try Encoded(list)
        }
        ownProcesses = SharedCall {
            var list = ProcessList(try await runtime.snapshot())
            cluster?.mark(&list)
            return try Encoded(list)
        }
    }

    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue {
        try await audit.recording(operation, from: requester) { () async throws(ControlError) -> JSONValue in
            // Before the answer: what an operator was told has happened survives a kill of the daemon.
            defer { if operation.isRecorded, !operation.isMessage { standing.save() } }
            do {
                return try await perform(operation, OperatorCall(daemon: self, requester: requester))
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
        do {
            return try await perform(operation, OperatorCall(daemon: self, requester: requester, items: items))
        } catch {
            throw ControlError(error)
        }
    }

    /// Returns what a node of the cluster, which may be this one, has as a whole; of a stream, what ends it.
    func answer(to question: ControlOperation, of node: String, _ call: OperatorCall) async throws -> JSONValue {
        let membership = try membership()
        let origin = audit.origin(of: call.requester, epoch: 0)
        if let items = call.items {
            if let result = try await membership.stream(question, of: node, to: items, origin) { return result }
        } else {
            if let answer = try await membership.answer(to: question, of: node, origin) { return answer }
            if question == .ps { return try await ownProcesses.value().json }
        }
        return try await perform(question, call)
    }

    private func perform(_ operation: ControlOperation, _ call: OperatorCall) async throws -> JSONValue {
        let requester = call.requester
        let origin = { audit.origin(of: requester, epoch: $0) }
        if let items = call.items {
            if let result = try await cluster?.passOn(operation, from: requester, to: items, origin) { return result }
            if requester.passage != nil { try await cluster?.check(operation, from: requester) }
        } else {
            try await checkLife(operation, call)
            if let top = try await cluster?.switchEverywhere(operation, from: requester) {
                return try ControlJSON.value(of: try await stateOfPlaced(top, call))
            }
            if let answer = try await cluster?.passOn(operation, from: requester, origin) { return answer }
            try await cluster?.check(operation, from: requester)
        }
        audit.noteLook(operation, from: requester)
        return try await Self.handlers.carryOut(operation, call)
    }

    /// Refuses a change that is meant for a life that is over.
    private func checkLife(_ operation: ControlOperation, _ call: OperatorCall) async throws {
        guard let life = operation.meantLife, let path = operation.path else { return }
        let node = try ControlJSON.decode(TreeNode.self, from: try await perform(.status(path: path), call))
        guard UInt64(node.incarnation) != life else { return }
        let message = "\(path) is in life \(node.incarnation) by now; the request was for life \(life)"
        throw ControlError(.otherLife, message, maybeExecuted: false)
    }

    /// The time for which a placed child that has got a node is waited for until it has been up there for the probation.
    private static let placedStartLimit = Duration.seconds(10)

    /// Returns the state of a placed child that was stopped on all nodes, or that has got a node after its start.
    ///
    /// Of a node that can't be asked it's known alone that it has the child.
    private func stateOfPlaced(_ top: String, _ call: OperatorCall) async throws -> LifecycleResult {
        let end = ContinuousClock.now + Self.placedStartLimit
        var result = LifecycleResult(path: top, state: "inactive", incarnation: 0)
        while let owner = try? await cluster?.location(of: try CoordinatorPath(operand: top)).node {
            result.state = "starting"
            guard cluster?.isAskable(owner) == true else { break }
            let answer = try? await perform(.status(path: top), call)
            if let status = answer.flatMap({ try? ControlJSON.decode(TreeNode.self, from: $0) }), status.clusterNode == owner {
                result = LifecycleResult(status)
                switch status.state {
                case "failed", "failing", "restarting":
                    let reason = status.lastExit ?? "for an unknown reason"
                    throw ControlError(.failed, "\(top) was started on \(owner) and has ended at once: \(reason); look at its output")
                // How a former life has ended there says nothing of this one, which is about to begin.
                case "inactive": break
                default: if !status.isOnProbation(status.incarnation, Self.probation) { return result }
                }
            }
            guard ContinuousClock.now < end else { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        return result
    }

    /// Returns what a rolling restart of a path replaces; of instances that other nodes have, what these say.
    func replacements(of path: CoordinatorPath, for requester: Requester) async throws -> PathList {
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
            let call = OperatorCall(daemon: self, requester: requester)
            let status = try ControlJSON.decode(TreeNode.self, from: try await perform(.status(path: path.description), call))
            if [CoordinatorState.inactive, .failed].map(\.rawValue).contains(status.state) { return [] }
            let answer = try await perform(.replacements(path: path.description), call)
            return try ControlJSON.decode(PathList.self, from: answer).paths.compactMap(CoordinatorPath.init)
        } catch let error as ControlError where error.code == .notRunning {
            return []
        } catch {
            // Its replacement will fail, and say why.
            return [path]
        }
    }

    func history(_ path: CoordinatorPath) async throws -> LifeHistory {
        if let history = events.history(of: path.description) { return history }
        // The path may be that of a coordinator that no event was about.
        _ = try await status(path)
        return LifeHistory(path: path.description, lives: [])
    }

    /// Returns the daemon as a node of a cluster.
    func membership() throws(ControlError) -> ClusterMembership {
        if let cluster { return cluster }
        throw ControlError(.invalidRequest, "this daemon is no node of a cluster: its configuration has no `cluster`")
    }

    func status(_ path: CoordinatorPath) async throws -> TreeNode {
        var node = try await knownStatus(path).adding(children.untilNextRuns).adding(events)
        await cluster?.mark(&node)
        return node
    }

    private func knownStatus(_ path: CoordinatorPath) async throws -> TreeNode {
        try await at(path) {
            let node = TreeNode(try await runtime.snapshot(of: path))
            if path.isRoot { return children.complete(node) }
            return children.place(of: path)?.siblings.described(node) ?? node
        } forgotten: { place in
            place.siblings.node(of: place.child, under: place.parent.description)
        }
    }

    func stop(_ path: CoordinatorPath) async throws -> LifecycleResult {
        try await interventions.carryOut(at: path) {
            try await dependents.willStop(path)
            return try await at(path) {
                LifecycleResult(try await runtime.stop(path))
            } forgotten: { _ in
                LifecycleResult(path: path.description, state: "inactive", incarnation: 0)
            }
        }.0
    }

    func restart(_ path: CoordinatorPath) async throws -> LifecycleResult {
        try await dependents.willStop(path, isRestart: true)
        return try await began(path) {
            try await interventions.carryOut(at: path) { TreeNode(try await runtime.restart(path)) }
        }
    }

    func replace(_ path: CoordinatorPath) async throws -> LifecycleResult {
        let (replaced, number) = try await interventions.carryOut(at: path) { TreeNode(try await runtime.replace(path)) }
        return try await outcome(of: replaced, path, since: number)
    }

    func start(_ path: CoordinatorPath) async throws -> LifecycleResult {
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
        // The end of the former life says nothing of one that ends before its own end is noted.
        if let place = children.place(of: path) { place.siblings.recordExit(nil, of: place.child.key) }
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
    func kill(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot {
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
}

extension ControlOperation {
    /// Whether the operation names a configuration file, which is then read as its requester.
    fileprivate var namesConfigurationFile: Bool {
        switch content {
        case let operation as ConfigurationDifference: operation.file != nil
        case let operation as ConfigurationApplication: operation.file != nil
        default: false
        }
    }
}

extension TreeNode {
    private static let goodExits = Set([ExitReason.normal, .shutdown, .exited(code: 0)].map(\.description))

    /// Whether the life that was started is still within its probation.
    fileprivate func isOnProbation(_ life: UInt32, _ probation: Duration) -> Bool {
        switch state {
        case "failed", "failing", "restarting": false
        // The reason of its end is about to arrive.
        case "inactive": lastExit == nil
        default: incarnation == life && .milliseconds(uptimeMilliseconds) < probation
        }
    }

    /// Whether the life that was started has ended other than normally or by a stop.
    fileprivate func hasFailed(since life: UInt32) -> Bool {
        switch state {
        case "failed", "failing", "restarting": true
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
