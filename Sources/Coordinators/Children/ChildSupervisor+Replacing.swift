import ConcurrencySupport
import Logging
import Supervision

/// The planned replacement of a life, in which no request fails: the next life is prepared while the present one works, and begins when
/// the present one has finished what it has taken.
extension ChildSupervisor {
    /// Replaces the present life of a child, or of each member of a pool, and returns when the new one is ready.
    ///
    /// - Throws: The reason why no process for the next life can be had; the present life then works on. The error of the next life's
    ///   first start; supervision then tries again as the child's type says.
    func replace(_ key: String) async throws {
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        let present = try presentLife(of: key)
        if let pool = present.host as? CoordinatorCell, pool.type.table.isPool { return try await replaceMembers(of: key) }
        let successor = try await makeSuccessor(present.definition)
        if let successor { try await tryOpenFlows(of: key, by: successor) }
        let handover = ChildSlot.Handover(
            former: present.incarnation,
            definition: present.definition,
            successor: successor,
            start: ChildSlot.Start()
        )
        defer {
            withSlot(key) { slot in
                if slot.handover?.start === handover.start { slot.record.handover = nil }
            }
            successor?.discardUnlessOwned()
        }
        guard let successor, successor.plan.overlaps else {
            try handOver(key, present, handover)
            return try await handover.start.value.get()
        }
        try await startSuccessor(successor, beside: present, handover, of: key)
        // From here on the next life is the one that a next root adopts.
        successor.becomeAdoptableBeside()
        try handOver(key, present, handover)
        try await handover.start.value.get()
        await waitForEnd(of: present.host)
        await becomeAdoptable(successor)
    }

    /// A life that can be replaced.
    fileprivate struct PresentLife {
        let definition: ChildDefinition
        let incarnation: Incarnation
        let host: any ChildHost
    }

    private func presentLife(of key: String) throws(CoordinatorError) -> PresentLife {
        let path = cell.path.appending(key)
        let found = state.withLock { state in
            let isRunning = state.isRunning(key)
            return state.slots.with(key) { slot in
                (isRunning: isRunning, isPaused: !slot.pauseReasons.isEmpty, slot.definition, slot.incarnation, slot.host)
            }
        }
        guard let (isRunning, isPaused, definition, incarnation, host) = found else { throw noSuchChild(key) }
        guard isRunning, let host else { throw CoordinatorError(.stopped, "\(path) isn't running: there is nothing to replace") }
        // What waits in a paused life would have to begin for that life to end.
        if isPaused { throw CoordinatorError(.unsupported, "\(path) is paused: resume it before it's replaced") }
        return PresentLife(definition: definition, incarnation: incarnation, host: host)
    }

    private func replaceMembers(of key: String) async throws {
        let envelope = Envelope(.value(RestartMembers()), sender: cell.path, deadline: nil)
        _ = try await envelope.delivered(in: cell.openAsks) { deliver($0, to: key, [], isDirect: true) }
    }

    /// Starts the process of the next life, which waits for it.
    ///
    /// - Returns: `nil` for a child without a process that could wait.
    private func makeSuccessor(_ definition: ChildDefinition) async throws -> WorkerHost? {
        guard case .coordinator(let coordinator) = definition.kind, case .worker(_, let program, let plan) = coordinator.place else {
            return nil
        }
        let successor = WorkerHost(program, plan, path: cell.path.appending(definition.key), parent: cell)
        try await successor.prepare(for: coordinator)
        return successor
    }

    /// The time that the durable flows of a life may take to be tried.
    private static let timeOfTrials = Duration.seconds(300)

    /// Has the process of the next life try the durable flows that are open in the present one, some at a time.
    ///
    /// A present life that doesn't answer is replaced all the same: that may be why.
    ///
    /// - Throws: `startFailed`, with those that it can't go on with; the process is of no use then.
    private func tryOpenFlows(of key: String, by successor: WorkerHost) async throws {
        var budget = TimeoutBudget.initial
        let deadline = cell.runtime.time.now + Self.timeOfTrials
        repeat {
            let records: JSONValue
            do {
                records = try await relay(.flowRecords, to: key, [], budget)
            } catch {
                // One of a release without flows, or a program in another language, knows none.
                if (error as? CoordinatorError)?.code == .unsupported { return }
                let metadata: Logger.Metadata = ["coordinator.path": "\(cell.path.appending(key))", "error": "\(error)"]
                return cell.logger.warning("the open flows of a life that is replaced can't be read, and aren't tried", metadata: metadata)
            }
            do {
                try await successor.tryFlows(records)
                budget.argument = records["next"]
                guard budget.argument == nil || cell.runtime.time.now < deadline else {
                    throw CoordinatorError(.timedOut, "the flows of \(cell.path.appending(key)) weren't tried in \(Self.timeOfTrials)")
                }
            } catch let error as CoordinatorError where error.code == .unsupported {
                return
            } catch {
                successor.discard()
                throw error
            }
        } while budget.argument != nil
    }

    /// Begins the end of the present life: new messages wait for the next one from now on, which settles the handover's wait.
    ///
    /// - Throws: `restarting` when the present life isn't what it was any more.
    private func handOver(_ key: String, _ present: PresentLife, _ handover: ChildSlot.Handover) throws(CoordinatorError) {
        let isReady = mutateAndPerform { state -> Bool? in
            guard state.phase == .open, let slot = state.slots.box(key) else { return nil }
            if let successor = handover.successor, slot.value.host === successor {
                // The present life has ended meanwhile, and supervision goes on with the one that had begun beside it.
                if state.isRunning(key) { return true }
                slot.value.record.starts.append(handover.start)
                return false
            }
            guard state.canReplace(present, of: key), handover.isUsable else { return nil }
            guard slot.value.handover == nil || slot.value.handover?.start === handover.start else { return nil }
            slot.value.record.handover = handover
            slot.value.record.starts.append(handover.start)
            slot.value.phase.hold()
            state.feed(.restartRequested(key))
            return false
        }
        guard let isReady else { throw hasChanged(key) }
        if isReady { handover.start.settle(.success(())) }
    }

    private func hasChanged(_ key: String) -> CoordinatorError {
        CoordinatorError(.restarting, "\(cell.path.appending(key)) has changed while its replacement was prepared: try again")
    }
}

// MARK: - Lives that overlap

extension ChildSupervisor {
    /// Has the next life begin beside the present one, which gets the messages until the next one is ready.
    ///
    /// Supervision learns of the next life when that takes the present one's place; if the present one fails before, the next one is the one
    /// that follows.
    ///
    /// - Throws: The error of the start; the present life then works on.
    private func startSuccessor(
        _ successor: WorkerHost,
        beside present: PresentLife,
        _ handover: ChildSlot.Handover,
        of key: String
    ) async throws {
        let startContext = state.withLock { state -> StartContext? in
            guard state.phase == .open, state.canReplace(present, of: key), let slot = state.slots.box(key), slot.value.handover == nil,
                successor.isWaiting
            else { return nil }
            slot.value.record.handover = handover
            return StartContext(areEventsWanted: areEventsWanted(of: slot.value))
        }
        guard let startContext, case .coordinator(let coordinator) = present.definition.kind else { throw hasChanged(key) }
        let assignment = WorkerHost.Assignment(
            definition: coordinator,
            startTimeout: cell.runtime.options.startTimeout,
            // The life has no events for supervision before it has taken the place.
            events: HostEvents(owner: nil, life: IncarnationID(key: key, incarnation: present.incarnation + 1)),
            startContext: startContext
        )
        guard successor.assign(assignment) else { throw hasChanged(key) }
        cell.passInheritance(to: successor)
        try await successor.startBeside()
    }

    /// Waits until nothing is left of a former life.
    func waitForEnd(of former: any ChildHost) async {
        guard let former = former as? WorkerHost else { return }
        await former.gone.value
        state.withLock { state in state.leaving.removeAll { $0 === former } }
    }

    /// Makes a life adoptable whose predecessor is gone, and has left the path's lock.
    private func becomeAdoptable(_ life: WorkerHost) async {
        do throws(CoordinatorError) {
            try await life.becomeAdoptable()
        } catch {
            cell.logger.warning("a replaced life isn't adopted", metadata: ["coordinator.path": "\(life.path)", "error": "\(error)"])
        }
    }

    /// The lives that aren't in their slots.
    struct Others {
        /// The former lives that finish what they have taken.
        let leaving: [WorkerHost]
        /// The processes that were prepared, and have taken no place.
        let successors: [WorkerHost]
    }
}

extension ChildSupervisor.State {
    var others: ChildSupervisor.Others {
        ChildSupervisor.Others(leaving: leaving, successors: machine.ids.compactMap { slots[$0]?.handover?.successor })
    }

    /// Whether a life is still the present one of its key, and can be replaced.
    fileprivate func canReplace(_ present: ChildSupervisor.PresentLife, of key: String) -> Bool {
        isRunning(key)
            && slots.with(key) { slot in
                slot.incarnation == present.incarnation && slot.definition.isSame(as: present.definition) && slot.pauseReasons.isEmpty
            } == true
    }
}

// MARK: - Handover from life to life

extension ChildSlot {
    /// A planned change from the present life to the next one, which begins when the present one has finished what it has taken; beside it, if
    /// the child's lives may overlap.
    struct Handover {
        /// The incarnation that gives way.
        let former: Incarnation
        /// The definition that the next life begins with, if it begins beside the present one.
        let definition: ChildDefinition
        /// The process that was prepared for the next life, and hasn't been given it; `nil` for a child without a process that could wait.
        var successor: WorkerHost?
        /// The wait of the handover's caller: for the next life, or for the first failure to start it.
        let start: Start

        /// Whether the process that was prepared is still of use: it waits for its life, or has begun it beside the present one.
        var isUsable: Bool {
            guard let successor else { return true }
            return successor.isAlive && (successor.plan.overlaps || successor.isWaiting)
        }
    }

    /// Removes and returns the process that was prepared for the next life, if it still lives and suits the definition.
    mutating func takeSuccessor() -> WorkerHost? {
        guard let handover, let successor = handover.successor, handover.isUsable,
            !successor.plan.overlaps || handover.definition.isSame(as: definition), case .coordinator(let coordinator) = definition.kind,
            case .worker(_, let program, let plan) = coordinator.place,
            successor.program == program, successor.plan == plan
        else { return nil }
        record.handover?.successor = nil
        return successor
    }
}

extension ChildSupervisor.State {
    /// Notes that a life leaves beside its successor, which has begun: supervision goes on with that at once.
    ///
    /// - Returns: The life's host; `nil` when the life has no such successor: its end is awaited.
    mutating func leave(_ key: String, _ incarnation: Incarnation) -> WorkerHost? {
        guard phase == .open, isAlive(key), let handover = slots.with(key, \.handover) ?? nil, handover.former == incarnation,
            handover.successor?.plan.overlaps == true, handover.isUsable, let host = host(of: key) as? WorkerHost
        else { return nil }
        leaving.append(host)
        return host
    }
}

extension Shutdown {
    /// A time without an end, for what has to have one.
    private static let forEver = Duration.seconds(365 * 86_400)

    /// The same time to end, of which the child uses what it needs to finish what it has taken.
    var drainingFirst: Shutdown {
        switch self {
        case .brutalKill, .draining: self
        case .timeout(let duration): .draining(duration)
        case .infinity: .draining(Self.forEver)
        }
    }
}
