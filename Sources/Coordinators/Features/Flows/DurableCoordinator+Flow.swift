import ConcurrencySupport
import Flows
import Supervision
import WireProtocol

extension DurableCoordinator {
    /// Reads the coordinator's flow, or begins it, before its `start`.
    func openFlow(in cell: CoordinatorCell) async throws {
        let flow = try await FlowLife<Self>.open(in: cell)
        let isWanted = cell.state.withLock { state -> Bool in
            guard state.life.phase == .starting else { return false }
            state.flows.flow = flow
            // They are on no stack that others share: those of a thousand flows would be.
            state.pages.source = { [weak flow] in flow?.shownPages ?? [] }
            return true
        }
        // The start was given up meanwhile.
        if isWanted { flow.isWanted() } else { flow.end() }
    }
}

extension CoordinatorCell {
    /// The flow of a durable coordinator, which it has from before its `start`.
    func flow<C: DurableCoordinator>(of type: C.Type) throws(CoordinatorError) -> FlowLife<C> {
        guard let flow = existingFlows?.flow as? FlowLife<C> else {
            throw CoordinatorError(.unsupported, "\(path) has no flow before its `start`, nor after its end")
        }
        return flow
    }
}

// MARK: - Rows

extension Responder where C: DurableCoordinator {
    /// Answers a message by a change of the flow: state, pages, what is sent, and the reply are one commit.
    ///
    /// The asker gets the reply when that is on disk. An acknowledged message, such as one that another flow has sent, is handled once, whatever ends
    /// meanwhile: when it comes again it gets the same reply. A change that throws changes nothing, and the asker gets the error.
    @_disfavoredOverload
    public static func change<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (inout Flow<C>, M) throws -> M.Reply
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self, isDurable: true) { _, message, envelope, cell, _ in
            try await cell.flow(of: C.self).take(message, envelope, in: cell, body)
        }
        return Responder(row: .message(row))
    }

    /// Takes a message without a reply by a change of the flow.
    public static func change<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (inout Flow<C>, M) throws -> Void
    ) -> Responder where M.Reply == NoReply {
        change(message) { flow, message throws -> NoReply in
            try body(&flow, message)
            return NoReply()
        }
    }
}

// MARK: - The flow, for its coordinator

extension CoordinatorContext where C: DurableCoordinator {
    /// The flow's state, as it is on disk.
    ///
    /// It's there from before `start`.
    public var state: C.State {
        do throws(CoordinatorError) { return try cell.flow(of: C.self).value } catch { preconditionFailure(error.message) }
    }

    /// The pages of the flow that are shown, bottom first.
    public var pages: [C.Page] { (try? cell.flow(of: C.self).pages) ?? [] }

    /// Changes the flow, in its turn among all changes; returns when that is on disk.
    ///
    /// The call isn't ended by a cancellation.
    ///
    /// - Throws: What the body throws, and nothing has changed; `stopped` when the flow is over; `storeFull`.
    public func change<Result>(_ body: (inout Flow<C>) throws -> Result) async throws -> Result {
        try await cell.flow(of: C.self).change(in: cell, body)
    }

    /// Pages of a durable coordinator are shown by a change of its flow.
    @available(*, unavailable, message: "show a page by a change of the flow: `try await context.change { $0.show(page) }`")
    public func show(_ page: C.Page) {}

    /// Pages of a durable coordinator are removed by a change of its flow.
    @available(*, unavailable, message: "remove a page by a change of the flow: `try await context.change { $0.pop() }`")
    public func pop() {}

    /// A durable coordinator finishes by a change of its flow.
    @available(*, unavailable, message: "finish by a change of the flow: `try await context.change { $0.finish(output) }`")
    public func finish(_ output: C.Output) {}
}

// MARK: - Flows, for their parent

extension CoordinatorContext {
    /// Runs a durable flow to its end: begins it, joins it if it's open, or returns the output that it has had in the last seven days.
    ///
    ///     let receipt = try await context.run(OrderCoordinator.self, as: "\(order.number)", with: order)
    ///
    /// The flow goes on when the call is cancelled, and when this process ends, if the parent's ``Coordinator/open(section:)`` resumes it. As long as
    /// the call waits, the coordinator lives: an ``Coordinator/idleTimeout`` doesn't end it.
    ///
    /// - Parameters:
    ///   - type: The type of the flow.
    ///   - key: The child's key, by which the flow is known from its beginning until seven days after its end.
    ///   - shutdown: The time that the child is given to end; five seconds by default.
    ///   - configuration: The configuration with which the flow begins.
    /// - Throws: `unwound`, with the reason, when all that the flow has done was undone; `configurationDiffers` when a flow of this key was begun with
    ///   another configuration; `stopped` when the coordinator was stopped, or has failed for good, and the flow isn't over; what `start` throws;
    ///   `CancellationError`.
    public func run<K: DurableCoordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        shutdown: Shutdown = .timeout(.seconds(5)),
        with configuration: K.Configuration
    ) async throws -> K.Output {
        let (core, owner) = try cell.flowStore
        let flow = cell.flowKey(below: owner, child: key.description)
        let end = core.awaitEnd(of: flow)
        defer { core.awaitNoMore(end, of: flow) }
        let standing: FlowRecord.Standing
        if let row = try await core.storage(openedBy: owner).row(of: flow), row.isOver {
            let record = try row.decoded()
            try FlowLife<K>.refuse(configuration, for: record, flow)
            standing = record.standing
        } else {
            standing = try await self.standing(at: end, of: key) {
                try await start(type, as: key, in: .inProcess, restart: .transient, shutdown: shutdown, with: configuration)
            }
        }
        switch standing {
        case .finished(let output): return try K.Output(decoding: output)
        case .unwound(let reason): throw CoordinatorError(.unwound, reason, maybeExecuted: true)
        case .open, .unwinding, .finishing: throw CancellationError()
        }
    }

    /// Starts the coordinator of a flow, and waits for the flow's end.
    ///
    /// - Throws: `stopped` when the coordinator ends without the flow; what `start` throws.
    private func standing(
        at end: FlowStoreCore.End,
        of key: C.ChildKey,
        start: () async throws -> Child<some DurableCoordinator>
    ) async throws -> FlowRecord.Standing {
        let path = path.appending(key.description)
        let isStopped = "\(path) was stopped before its flow was over"
        // The life that is joined may have been about to end, as one that had nothing to do.
        for _ in 0..<2 {
            do { _ = try await start() } catch {
                // As the flow may have been.
                guard end.outcome != nil else { throw error }
            }
            let waiting = HandlerScope.current?.beginWaitForChild()
            defer { waiting?.end() }
            let standing = try await withThrowingTaskGroup(of: FlowRecord.Standing?.self) { group in
                group.addTask {
                    guard let standing = await end.valueUnlessCancelled() else { throw CancellationError() }
                    return standing
                }
                group.addTask { [children = cell.children] in
                    var reason = ""
                    do {
                        guard try await children.awaitEnd(of: path.key) else { return end.outcome }
                    } catch let error where !(error is CancellationError) {
                        reason = ": \(error)"
                    }
                    if let standing = end.outcome { return standing }
                    throw CoordinatorError(.stopped, isStopped + reason)
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
            if let standing { return standing }
        }
        throw CoordinatorError(.stopped, isStopped)
    }

    /// Runs a durable flow to its end whose configuration has defaults.
    public func run<K: DurableCoordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        shutdown: Shutdown = .timeout(.seconds(5)),
        configure: (inout K.Configuration) throws -> Void = { _ in }
    ) async throws -> K.Output where K.Configuration: CoordinatorConfiguration {
        var configuration = K.Configuration()
        try configure(&configuration)
        return try await run(type, as: key, shutdown: shutdown, with: configuration)
    }

    /// Starts the coordinator of a flow that was begun before, with the configuration that it has had.
    ///
    ///     func open(section key: String) async throws { try await context.resume(OrderCoordinator.self, as: key) }
    ///
    /// - Throws: `noSuchChild` when there is no such flow, or it's over and has nothing to send; what `start` throws.
    @discardableResult
    public func resume<K: DurableCoordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        shutdown: Shutdown = .timeout(.seconds(5))
    ) async throws -> Child<K> {
        let (core, owner) = try cell.flowStore
        let flow = cell.flowKey(below: owner, child: key.description)
        let stored = try await core.storage(openedBy: owner).row(of: flow)
        guard let row = stored, !row.isOver || row.due != nil else {
            if let record = try? stored?.decoded() { cell.answerAgain(to: key.description, by: record) }
            throw CoordinatorError(.noSuchChild, "there is no open flow \(flow) in the store")
        }
        let path = path.appending(key.description)
        let record = try await core.read(row, of: path, in: cell.runtime) { try row.decoded() }
        // Before its configuration is read, which this build needn't know either.
        try FlowLife<K>.refuseNewer(record, flow)
        let configuration = try await core.read(row, of: path, in: cell.runtime) { try FlowLife<K>.configuration(of: record) }
        return try await start(type, as: key, in: .inProcess, restart: .transient, shutdown: shutdown, with: configuration)
    }
}
