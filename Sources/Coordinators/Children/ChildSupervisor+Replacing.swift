import ConcurrencySupport
import Supervision

/// The planned replacement of a life, in which no request fails: the next life is prepared while the present one works, and begins when
/// the present one has finished what it has taken.
extension ChildSupervisor {
    /// Replaces the present life of a child, or of each member of a pool, and returns when the new one is ready.
    ///
    /// - Throws: The reason why no process for the next life can be had; the present life then works on. The error of the next life's
    ///   first start; supervision then tries again as the child's type says.
    func replace(_ key: String) async throws {
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        let present = try presentLife(of: key)
        if let pool = (present.host as? LocalHost)?.coordinator, pool.type.table.isPool { return try await replaceMembers(of: key) }
        let successor = try await makeSuccessor(present.definition)
        guard let start = handOver(key, present, to: successor) else {
            successor?.discard()
            throw CoordinatorError(.restarting, "\(node.path.appending(key)) has changed while its replacement was prepared: try again")
        }
        let result = await start.value
        withSlot(key) { slot in
            if slot.handover?.start === start { slot.record.handover = nil }
        }
        successor?.discardUnlessAssigned()
        try result.get()
    }

    /// A life that can be replaced.
    private struct PresentLife {
        let definition: ChildDefinition
        let incarnation: Incarnation
        let host: any ChildHost
    }

    private func presentLife(of key: String) throws(CoordinatorError) -> PresentLife {
        let path = node.path.appending(key)
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
        let envelope = Envelope(.value(RestartMembers()), sender: node.path, deadline: nil)
        _ = try await envelope.delivered(in: node.openAsks) { deliver($0, to: key, [], isDirect: true) }
    }

    /// Starts the process of the next life, which waits for it.
    ///
    /// - Returns: `nil` for a child without a process that could wait.
    private func makeSuccessor(_ definition: ChildDefinition) async throws -> WorkerHost? {
        guard case .coordinator(let coordinator) = definition.kind, case .worker(_, let program, let plan) = coordinator.place else {
            return nil
        }
        let successor = WorkerHost(program, plan, path: node.path.appending(definition.key), parent: node)
        try await successor.prepare(for: coordinator)
        return successor
    }

    /// Begins the end of the present life: new messages wait for the next one from now on.
    ///
    /// - Returns: The wait for the next life; `nil` when the present one isn't what it was any more.
    private func handOver(_ key: String, _ present: PresentLife, to successor: WorkerHost?) -> ChildSlot.Start? {
        mutateAndPerform { state -> ChildSlot.Start? in
            guard state.phase == .open, state.isRunning(key), let slot = state.slots.box(key), slot.value.handover == nil,
                slot.value.incarnation == present.incarnation, slot.value.definition === present.definition,
                slot.value.pauseReasons.isEmpty, successor?.isWaiting != false
            else { return nil }
            let start = slot.value.awaitStart()
            slot.value.record.handover = ChildSlot.Handover(former: present.incarnation, successor: successor, start: start)
            slot.value.phase.hold()
            state.feed(.restartRequested(key))
            return start
        }
    }
}
