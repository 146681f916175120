import ConcurrencySupport
import Logging
import Synchronization
import WireProtocol

extension CoordinatorCell {
    /// Searches a row from this coordinator upwards, in tree order across processes.
    ///
    /// - Parameter index: The index of the row after which the search in this coordinator's own table begins.
    func climb(_ envelope: Envelope, after index: Int = -1) {
        if envelope.isBuiltin { return climbBuiltin(envelope) }
        var cell = self
        var index = index
        while true {
            if let row = cell.type.table.row(for: envelope.body, after: index) { return cell.accept(envelope, row) }
            guard let parent = cell.parent else { return cell.leaveProcess(envelope) }
            if let border = cell.border { return border.cross(envelope) { parent.climb($0) } }
            cell = parent
            index = -1
        }
    }

    /// Searches a row for what has arrived on a link: one message, or several that share an envelope.
    func climb(arrived envelope: Envelope) {
        #if !SLOW_PATH_ONLY
        if envelope.count > 1 { return climbTogether(envelope) }
        #endif
        climb(envelope)
    }

    func leaveProcess(_ envelope: Envelope) {
        if runtime.links.uplink?.climb(envelope) != true { endUnhandled(envelope) }
    }

    /// Delivers to the coordinator at a path, wherever in the tree: up as far as needed, then down.
    func route(_ envelope: Envelope, to target: CoordinatorPath) {
        var cell = self
        while true {
            if let rest = target.components(below: cell.path) { return cell.deliverHere(envelope, to: rest, isDirect: true) }
            guard let parent = cell.parent else { break }
            cell = parent
        }
        guard let uplink = runtime.links.uplink else { return envelope.end(.failure(noSuchPath(target.description.dropFirst()))) }
        uplink.forward(envelope, to: target.description, isDirect: true)
    }

    /// Delivers to a coordinator at or below this one.
    ///
    /// - Parameters:
    ///   - rest: The keys from here down.
    ///   - isDirect: Whether only the coordinator's own table is searched; otherwise the message climbs from there.
    func deliverHere(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        guard let key = rest.first else { return isDirect ? acceptDirectly(envelope) : climbFromHere(envelope) }
        guard let supervision = knownSupervision ?? (runtime.mayStillStart(for: envelope) ? supervision : nil) else {
            return envelope.end(.failure(noSuchPath(key)))
        }
        supervision.deliver(envelope, to: String(key), rest.dropFirst(), isDirect: isDirect)
    }

    /// The supervisor of the children that are here or, below the root of a node of a cluster, on other nodes.
    var knownSupervision: (any ChildSupervision)? { existingSupervision ?? (parent == nil && runtime.placed != nil ? supervision : nil) }

    private func acceptDirectly(_ envelope: Envelope) {
        if envelope.isBuiltin { return acceptBuiltin(envelope) }
        if let row = type.table.row(for: envelope.body) { return accept(envelope, row) }
        if let row = type.table.poolRow(for: envelope.body) { return accept(envelope, row) }
        let name = envelope.body.name
        let text = "\(path), a \(type.name), has no row for \(name)\(TypeNames.advice(on: name))"
        envelope.end(.failure(CoordinatorError(.unhandled, text)))
    }

    /// Searches a row for a message to this coordinator; from the members of a pool messages climb past it.
    private func climbFromHere(_ envelope: Envelope) {
        if let row = type.table.poolRow(for: envelope.body) { return accept(envelope, row) }
        climb(envelope)
    }

    func noSuchPath(_ key: some StringProtocol) -> CoordinatorError {
        CoordinatorError(.noSuchPath, "there is no coordinator at \(path.appending(String(key)))")
    }

    /// Sends a message up the chain and waits for the answer.
    func ask(_ body: Envelope.Body, by deadline: MonotonicTime?, isOneWay: Bool) async throws -> Answer {
        let envelope = Envelope(body, sender: path, deadline: deadline, isOneWay: isOneWay)
        return try await envelope.delivered(in: openAsks) { climb($0) }
    }
}

// MARK: - Messages without a row

extension CoordinatorCell {
    /// Ends a message that no coordinator up to the root responds to, and reports it to the root.
    func endUnhandled(_ envelope: Envelope) {
        envelope.end(.failure(unhandled(envelope.body.name, of: envelope.sender)))
    }

    /// Reports a message that no coordinator up to the root responds to.
    ///
    /// - Returns: The error for the message's sender.
    func unhandled(_ name: String, of sender: CoordinatorPath) -> CoordinatorError {
        let message = UnhandledMessage(name: name, sender: sender)
        if let upward = runtime.observation.unhandled {
            upward.add(UnhandledReport(messages: [message]))
        } else {
            root.observeUnhandled(message)
        }
        return CoordinatorError(unhandled: message)
    }

    /// Has this coordinator, which is the root of the tree, observe a message, unless it's known to have no hook for that.
    private func observeUnhandled(_ message: UnhandledMessage) {
        if !type.lacks(.unhandled) { post(.unhandled(message)) }
    }

    /// Reports messages that no coordinator up to the root responded to: to the root's hook, in whichever process the root is.
    func reportUnhandled(_ report: UnhandledReport) {
        if let upward = runtime.observation.unhandled { return upward.add(report) }
        var bounded = UnhandledReport()
        bounded.add(report)
        let root = root
        for message in bounded.messages { root.observeUnhandled(message) }
    }

    /// The topmost coordinator of this process.
    private var root: CoordinatorCell {
        var cell = self
        while let parent = cell.parent { cell = parent }
        return cell
    }
}

extension CoordinatorCell {
    /// Records a message from another process that wants no answer, and can't be handled.
    func recordLoss(of envelope: Envelope, because error: any Error) {
        guard !envelope.isBuiltin else { return }
        let code = (error as? CoordinatorError)?.code
        let hasStopped = code == .stopped || code == .draining
        let reason: DeadLetter.Reason = hasStopped ? .stopped : .undeliverable("\(error)")
        for _ in 0..<envelope.count {
            runtime.observation.deadLetters.record(
                DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: reason)
            )
        }
    }
}

// MARK: - Rows that hand messages on to a child

extension MessageRow {
    /// Creates a row whose body takes its coordinator and its message typed.
    convenience init<C: Coordinator, M: ResponderMessage>(
        _ message: M.Type,
        of coordinator: C.Type,
        isInterceptor: Bool = false,
        isDurable: Bool = false,
        needs: Needs = Needs(),
        interleaves: Bool = false,
        body: @escaping @Sendable (isolated C, M, Envelope, CoordinatorCell, Int) async throws -> Answer
    ) {
        self.init(
            .type(M.self),
            isInterceptor: isInterceptor,
            isDurable: isDurable,
            needs: needs,
            interleaves: interleaves
        ) { coordinator, envelope, receiver, index in
            let message = try envelope.message(as: M.self, isLast: !isInterceptor)
            return try await body(Self.cast(coordinator), message, envelope, .of(receiver), index)
        }
    }

    /// Creates a row that hands messages on to a child.
    convenience init(_ match: Match, forwardingTo target: ForwardTarget) {
        self.init(
            match,
            // Whether the child has a row for the message isn't known here: a one-way message is accepted by the child alone.
            isInterceptor: true,
            isRelay: true,
            interleaves: true,
            inline: InlineRow(forwardingTo: target),
            // For a message that had to wait in the mailbox, because the coordinator was paused.
            body: { _, envelope, receiver, index in
                let cell = CoordinatorCell.of(receiver)
                let continuation = ChainContinuation(cell: cell, envelope: envelope, index: index)
                let answer = try await continuation.next(envelope.body, isOneWay: envelope.isOneWay, delivery: envelope.delivery) {
                    cell.forward($0, to: target)
                }
                return envelope.hasReplied ? .none : answer
            }
        )
    }
}

/// The messages that wait for children which the coordinator's `open(section:)` hook is about to start, by key.
typealias WaitingForChildren = [String: MessageParking<ParkedMessage>]

extension CoordinatorCell {
    /// Hands a message on to a child, as it is.
    func forward(_ envelope: Envelope, to target: ForwardTarget) {
        switch target {
        case .key(let key): forward(envelope, toChild: key)
        case .type(let name):
            let children = existingSupervision?.handles ?? []
            if let child = children.first(where: { $0.typeName == name }) { return forward(envelope, toChild: child.key) }
            if keepForStart(envelope, of: target) { return }
            envelope.end(.failure(CoordinatorError(.noSuchChild, "\(path) has no child of the type \(name)")))
        case .computed(let key):
            do { forward(envelope, toChild: try key(envelope)) } catch { envelope.end(.failure(error)) }
        }
    }

    private func forward(_ envelope: Envelope, toChild key: String) {
        // A message that arrives while the child is opened comes after those that wait for that.
        if joinWaiting(envelope, for: key) { return }
        if knownSupervision?.deliverIfPresent(envelope, to: key, [], isDirect: true) == true { return }
        if keepForStart(envelope, of: .key(key)) { return }
        let mustOpen = state.withLock { state -> Bool in
            guard state.life.phase != .stopped, state.extras.waitingForChildren[key] == nil else { return false }
            state.extras.waitingForChildren[key] = MessageParking<ParkedMessage>()
            return true
        }
        if !joinWaiting(envelope, for: key) { return envelope.end(.failure(CoordinatorError.hasStopped(path))) }
        // What the coordinator does in its hook is no part of the handler that has sent the message.
        if mustOpen { HandlerScope.perform(in: nil) { _ = handle { await self.openForWaiting(key) } } }
    }

    /// Keeps a message of an adopted worker for a child whose start may be still to come.
    ///
    /// - Returns: False when there is nothing to wait for.
    private func keepForStart(_ envelope: Envelope, of target: ForwardTarget) -> Bool {
        guard runtime.mayStillStart(for: envelope) else { return false }
        let message = ParkedMessage(envelope: envelope, rest: [], isDirect: true)
        return supervision.keep(UnclaimedMessage(message: message, target: target, isForwarded: true))
    }

    /// Adds a message to those that wait for a child to be opened.
    ///
    /// - Returns: False when the child isn't being opened.
    private func joinWaiting(_ envelope: Envelope, for key: String) -> Bool {
        let message = ParkedMessage(envelope: envelope, rest: [], isDirect: true)
        let isTaken = state.withLock { state -> Bool? in
            guard state.extras.waitingForChildren[key] != nil else { return nil }
            return state.extras.waitingForChildren[key]?.park(message)
        }
        guard let isTaken else { return false }
        if !isTaken {
            let path = path.appending(key)
            envelope.end(.failure(CoordinatorError(.mailboxFull, "as many messages, or bytes of them, wait for \(path) as may")))
        }
        return true
    }

    /// Opens a child by the coordinator's hook, and delivers the messages that have waited for it.
    private func openForWaiting(_ key: String) async {
        do {
            guard let instance = state.withLock({ $0.life.instance }) else { throw CoordinatorError.hasStopped(path) }
            try await type.open(instance, key)
            while let messages = takeWaiting(for: key) {
                let supervision = supervision
                for message in messages where !message.envelope.hasEnded {
                    supervision.deliver(message.envelope, to: key, [], isDirect: true)
                }
            }
        } catch {
            // The hook's own error; the messages have not begun, whatever the hook has asked others.
            let failure: any Error =
                switch error {
                case is CancellationError where isStopping: CoordinatorError.hasStopped(path)
                case let error as CoordinatorError: CoordinatorError(error.code, error.message)
                default: Failures.crossable(error)
                }
            let waiting = state.withLock { $0.extras.waitingForChildren.removeValue(forKey: key) }
            for message in waiting?.messages ?? [] { message.envelope.end(.failure(failure)) }
        }
        endDrainWaits()
    }

    /// Ends the messages that wait for children of a coordinator that has stopped.
    func endWaitingForChildren() {
        let waiting = state.withLock { state -> WaitingForChildren in
            guard state.hasExtras, !state.extras.waitingForChildren.isEmpty else { return [:] }
            defer { state.extras.waitingForChildren = [:] }
            return state.extras.waitingForChildren
        }
        for message in waiting.values.flatMap(\.messages) { message.envelope.end(.failure(CoordinatorError.hasStopped(path))) }
    }

    /// Removes and returns the messages that wait for a child that was opened; `nil` when there are none, from which time on messages go to
    /// the child itself.
    private func takeWaiting(for key: String) -> [ParkedMessage]? {
        state.withLock { state in
            let messages = state.extras.waitingForChildren[key]?.removeAll() ?? []
            if messages.isEmpty { state.extras.waitingForChildren[key] = nil }
            return messages.isEmpty ? nil : messages
        }
    }
}

extension CoordinatorCell {
    /// The asks that others may join, made when there is the first.
    private var sharedAsks: SharedAsks {
        state.withLock { state in
            if let asks = state.extras.sharedAsks { return asks }
            let asks = SharedAsks(runtime.time)
            state.extras.sharedAsks = asks
            return asks
        }
    }

    /// Asks, or joins an equal ask that is open.
    ///
    /// - Parameter child: The child that is asked; `nil`: the message climbs.
    func askTogether<M: ResponderMessage>(
        _ message: M,
        by deadline: MonotonicTime,
        child: String? = nil,
        _ ask: @escaping @Sendable () async throws -> Answer
    ) async throws -> M.Reply {
        try await sharedAsks.answer(SharedAsks.Key(message, child: child), by: deadline, ask).decoded(as: M.Reply.self)
    }
}

extension CoordinatorCell {
    /// Sends a request between runtimes, and waits for the answer.
    func request(
        _ message: some BuiltinMessage,
        by deadline: MonotonicTime? = nil,
        dispatch: (Envelope) -> Void
    ) async throws -> Answer {
        try await Envelope(.value(message), sender: path, deadline: deadline, isBuiltin: true).delivered(in: openAsks, by: dispatch)
    }

    /// Handles a message of the runtime on its way up.
    func climbBuiltin(_ envelope: Envelope) {
        guard let builtin = Builtin(named: envelope.body.name) else { return carryOut(envelope) { throw unknown(envelope) } }
        runtime.features.handleOnItsWayUp(builtin, envelope, at: self)
    }

    /// Handles a message of the runtime for this coordinator, or has the node handle it that has the child which it's about.
    func acceptBuiltin(_ envelope: Envelope) {
        // The root's children may be on other nodes.
        if parent == nil, let nodes = runtime.placed, let key = child(of: envelope) {
            let message = ParkedMessage(envelope: envelope, rest: [], isDirect: false)
            if nodes.deliverElsewhere(message, for: key) { return }
        }
        acceptBuiltinHere(envelope)
    }

    /// Returns the key of the child that a message of the runtime is about.
    private func child(of envelope: Envelope) -> String? {
        switch Builtin(named: envelope.body.name) {
        case .readEvents: try? envelope.message(as: ReadEvents.self).key
        case .watchChild: try? envelope.message(as: WatchChild.self).key
        default: nil
        }
    }

    /// Handles a message of the runtime for this coordinator, on this node.
    func acceptBuiltinHere(_ envelope: Envelope) {
        guard let builtin = Builtin(named: envelope.body.name) else { return carryOut(envelope) { throw unknown(envelope) } }
        runtime.features.handle(builtin, envelope, at: self)
    }

    func unknown(_ envelope: Envelope) -> CoordinatorError {
        CoordinatorError(.unhandled, "\(path) doesn't know \(envelope.body.name)")
    }

    func watchChild(_ envelope: Envelope) {
        guard let key = try? envelope.message(as: WatchChild.self).key, let children = existingSupervision else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "\(path) has no children")))
        }
        children.watch(key, envelope)
    }

    func carryOut(_ envelope: Envelope, _ body: () throws -> Answer) {
        do {
            envelope.complete(.success(try body()))
        } catch {
            let metadata: Logger.Metadata = [
                "coordinator.path": "\(path)", "message.name": "\(envelope.body.name.shortened)", "error": "\("\(error)".shortened)",
            ]
            runtime.observation.violations.report(by: path.description) { [logger = runtime.observation.logger] others in
                logger.error("a message of the runtime failed", metadata: metadata.counting(others))
            }
            envelope.complete(.failure(error))
        }
        envelope.release()
    }
}
