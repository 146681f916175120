import ConcurrencySupport
import WireProtocol

extension CoordinatorCell {
    /// The coordinator's messages at the moment, wherever they wait.
    var mailboxSnapshot: CoordinatorSnapshot.Mailbox {
        get async {
            var snapshot = state.withLock { $0.mailboxSnapshot }
            snapshot.add(existingSupervision?.waitingPlace)
            if let pool = handingOn {
                let places = await pool.waitingPlaces
                // They are handlers of the pool's own.
                snapshot.running = max(snapshot.running - places.reduce(0) { $0 + $1.waiting }, 0)
                snapshot.add(places)
            }
            guard parent == nil else { return snapshot }
            snapshot.add(runtime.placed?.waitingPlaces ?? [])
            snapshot.add(runtime.links.uplink?.waitingPlace)
            return snapshot
        }
    }
}

extension CoordinatorCell.State {
    fileprivate var mailboxSnapshot: CoordinatorSnapshot.Mailbox {
        let running = runningMessages
        // Of what was taken from the queue, a row that doesn't await handles one message at a time, and the others wait for it.
        let atOnce = messagesAtOnce
        let waitingInBatch = max(atOnce - 1, 0)
        var snapshot = CoordinatorSnapshot.Mailbox(
            running: running + min(atOnce, 1),
            handled: mailbox.handled,
            stuck: hasExtras ? extras.stuck.count { $0.culprit == nil } : 0
        )
        let needing = CoordinatorSnapshot.WaitingPlace(.dependency, mailbox.messagesForDependencies)
        let queued = mailbox.messageCount - mailbox.takenCount - mailbox.withdrawnCount - (needing?.waiting ?? 0)
        let waiting = queued + waitingInBatch + mailbox.reserved.count
        if waiting > 0 {
            let oldest = [mailbox.oldestArrival, oldestArrival(inBatch: waitingInBatch)].compactMap(\.self).min()
            let age = oldest.map { max(.now - $0, .zero) } ?? .zero
            snapshot.add(CoordinatorSnapshot.WaitingPlace(.handler, waiting: waiting, oldestWaiting: age))
        }
        snapshot.add(needing)
        if hasExtras { snapshot.add(extras.waitingForChildren.compactMap { $1.place(.opening, key: $0) }) }
        return snapshot
    }

    private var runningMessages: Int { handlers.running.values.count { $0.envelope.map { !$0.isStreamOfEvents } ?? false } }

    /// The number of messages that have left the queue, and that rows which don't await handle one after the other.
    var messagesAtOnce: Int { max(mailbox.takenCount - runningMessages, 0) }

    /// Returns the time of arrival of the oldest among the messages at the end of the batch that begins at the moment.
    private func oldestArrival(inBatch count: Int) -> MonotonicTime? {
        var rest = count
        var oldest = count > 0 ? mailbox.acceptedSince : nil
        for envelope in handlers.batch.reversed().lazy.compactMap(\.envelope) where rest > 0 {
            oldest = min(oldest ?? envelope.arrived, envelope.arrived)
            rest -= envelope.count
        }
        return oldest
    }
}

extension Envelope {
    /// Whether this is another coordinator's request for a child's events, for which nothing runs in the coordinator.
    fileprivate var isStreamOfEvents: Bool { isBuiltin && flow != nil }
}

/// The description of a coordinator by its own process: its messages, and its children with their subtrees.
struct SelfDescription: Codable, Sendable {
    var mailbox: CoordinatorSnapshot.Mailbox?
    var flows: CoordinatorSnapshot.Flows?
    var children: [CoordinatorSnapshot]

    init(mailbox: CoordinatorSnapshot.Mailbox?, flows: CoordinatorSnapshot.Flows? = nil, children: [CoordinatorSnapshot]) {
        (self.mailbox, self.flows, self.children) = (mailbox, flows, children)
    }

    /// Reads a description; a process that doesn't tell of messages sends the list of the children.
    init(reading json: JSONValue) throws(CoordinatorError) {
        if case .array = json {
            self.init(mailbox: nil, children: try [CoordinatorSnapshot](decoding: json))
        } else {
            try self.init(decoding: json)
        }
    }

    /// The deepest coordinators that are described, in levels below the root: an answer to an operator has at most 512 levels, and each takes two.
    static let deepest = 240

    /// Returns the children of the coordinator at a path: a process describes its own subtree, and what else it describes isn't believed.
    func children(of path: CoordinatorPath) -> [CoordinatorSnapshot] {
        Self.own(children, of: path, level: path.components.count + 1)
    }

    private static func own(_ children: [CoordinatorSnapshot], of path: CoordinatorPath, level: Int) -> [CoordinatorSnapshot] {
        guard level <= deepest else { return [] }
        return children.compactMap { child in
            guard child.path.parent == path, child.path.description.utf8.count <= CoordinatorPath.limit else { return nil }
            var child = child
            child.children = own(child.children, of: child.path, level: level + 1)
            return child
        }
    }
}

// MARK: - Operations for a path

extension CoordinatorCell {
    /// Carries out an operator's request about a coordinator below this one; about the coordinator itself the only possible request is its
    /// description.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget = .initial) async throws -> JSONValue {
        if operation.isAboutFlows { return try await runtime.features.carryOut(operation, on: rest, of: self, budget) }
        guard let key = rest.first.map(String.init) else {
            if operation == .counters { return try runtime.observation.counts.counters.encodedAsJSON() }
            guard operation == .inspect else {
                throw CoordinatorError(
                    .unsupported,
                    "\(path) is this process's own coordinator: its parent has to \(operation.rawValue) it"
                )
            }
            let children = await childSnapshots(budget)
            guard budget.asksForMailbox else { return try children.encodedAsJSON() }
            return try SelfDescription(
                mailbox: await mailboxSnapshot,
                flows: await runtime.features.flowsSnapshot(of: self),
                children: children
            ).encodedAsJSON()
        }
        guard let supervision = existingSupervision else { throw noSuchPath(key) }
        return try await supervision.operate(operation, on: key, rest.dropFirst(), budget: budget)
    }

    /// Returns the present snapshots of the children, with their subtrees.
    func childSnapshots(_ budget: TimeoutBudget = .initial) async -> [CoordinatorSnapshot] {
        await existingSupervision?.snapshots(budget) ?? []
    }
}
