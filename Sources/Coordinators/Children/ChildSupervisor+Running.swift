import ConcurrencySupport
import DequeModule

/// The way in which `run` treats a child that lives under the key already.
public enum IfRunning: Sendable, Hashable {
    /// The call throws `keyInUse`.
    case fail
    /// The call waits until the child has ended, then runs its own. Several that wait get their turns in order of arrival.
    case wait
    /// The call gets the output of the child that lives, together with the call that has started it.
    ///
    /// The child must have the same type and the same configuration: otherwise the call throws `keyInUse` or `configurationDiffers`.
    case join
}

extension ChildSupervisor {
    /// Runs a child to its end, and returns its output.
    ///
    /// Cancelling the waiting task stops the child that it has started, unless another call waits for the child too.
    func run(_ definition: ChildDefinition, ifRunning: IfRunning) async throws -> Answer {
        let key = definition.key
        try node.path.check(key)
        let end = ChildSlot.End()
        let tenancy = try await takeKey(of: definition, end, ifRunning)
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        let outcome = await withTaskCancellationHandler {
            await end.value
        } onCancel: {
            leave(end, key, tenancy)
        }
        // A child that has finished is removed already; its key may have been taken again.
        if case .failure = outcome { await removeRun(key, tenancy) }
        try Task.checkCancellation()
        return try outcome.get()
    }

    /// Requests a child that is run to its end, in its turn.
    ///
    /// - Returns: The number of the key's tenancy.
    private func takeKey(of definition: ChildDefinition, _ end: ChildSlot.End, _ ifRunning: IfRunning) async throws -> UInt64 {
        var hasTurn = false
        while true {
            do {
                switch try request(definition, .run(end, ifRunning, hasTurn: hasTurn)) {
                case .accepted(let tenancy, _): return tenancy
                case .busy(let turn):
                    hasTurn = false
                    let waiting = HandlerScope.current?.beginWaitForChild()
                    defer { waiting?.end() }
                    // A turn that comes at the same time as the cancellation has to be passed on.
                    if await turn.valueUnlessCancelled() == nil, turn.settle() { throw CancellationError() }
                    hasTurn = true
                }
            } catch {
                if hasTurn { passTurn(of: definition.key) }
                throw error
            }
        }
    }

    /// Gives the turn to the first call that waits to run a child under a key, if the key is free.
    func passTurn(of key: String) {
        while let next = state.withLock({ $0.takeSuccessor(of: key) }) {
            if next.settle() { return }
        }
    }

    /// Ends the wait of a call that was cancelled; the child is stopped if no other call waits for it.
    private func leave(_ end: ChildSlot.End, _ key: String, _ tenancy: UInt64) {
        let isLast = mutateAndPerform { state -> Bool in
            let isAlive = state.isAlive(key)
            let isLast = state.slots.with(key) { slot -> Bool in
                guard slot.tenancy.number == tenancy else { return false }
                if slot.record.isRun, slot.starts.isEmpty, slot.record.ends.count == 1, slot.record.ends[0] === end {
                    if isAlive { slot.record.stopInitiator = .parent }
                    return true
                }
                slot.record.ends.removeAll { $0 === end }
                return false
            }
            if isLast == true { state.feed(.removeRequested(key)) }
            return isLast == true
        }
        // The last one waits until nothing is left of the child.
        if !isLast { end.settle(.failure(CancellationError())) }
    }

    /// Removes a child that has not finished, if it was started to be run to its end.
    private func removeRun(_ key: String, _ tenancy: UInt64) async {
        let isRun = withSlot(key) { $0.tenancy.number == tenancy && $0.record.isRun && $0.record.ends.isEmpty }
        if isRun == true { try? await stop(key, initiator: .parent, forgets: true, tenancy: tenancy) }
    }
}

extension ChildSupervisor.State {
    /// Removes and returns the first call that waits to run a child under a key; `nil` when there is none, or the key is taken.
    fileprivate mutating func takeSuccessor(of key: String) -> OneShot<Void>? {
        if phase == .open, isAlive(key) { return nil }
        let next = successors[key]?.popFirst()
        if successors[key]?.isEmpty == true { successors[key] = nil }
        return next
    }
}
