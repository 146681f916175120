import ConcurrencySupport
import Supervision

/// The way in which a start treats a child that has the key already.
public enum IfPresent: Sendable, Hashable {
    /// A child that lives is joined, if it's of the same type and has the same configuration; otherwise the start throws.
    case join
    /// The child keeps its place among its siblings and its state, and gets the new definition: its restart type, its shutdown, its limits
    /// and its spares hold at once, and so does all of a program that its running process has no part in, or that can be changed from outside:
    /// its health check, its stop, its exit codes, its recycling, its niceness and its limits of resources. Everything else holds from its
    /// next life on.
    case change
    /// The child keeps its place among its siblings, gets the new definition, and is restarted with it, whatever its state.
    case restart
}

extension ChildSupervisor {
    /// Starts a child, or changes the one that has the key already.
    func start(_ definition: ChildDefinition, ifPresent: IfPresent) async throws {
        switch ifPresent {
        case .join: break
        case .change:
            if define(definition) {
                changeSpares(of: definition.key)
                try state.withLock({ $0.slots.with(definition.key) { $0.host } ?? nil })?.take(definition)
                return
            }
        case .restart: if define(definition) { return try await restart(definition.key) }
        }
        try await start(definition)
    }

    /// Replaces the definition of a child, whose life goes on.
    ///
    /// - Returns: False when no child has the key.
    private func define(_ definition: ChildDefinition) -> Bool {
        mutateAndPerform { state in
            guard state.phase == .open, state.machine.state(of: definition.key) != nil else { return false }
            state.slots.with(definition.key) { $0.tenancy.definition = definition }
            var specification = definition.specification
            specification.stopPlace = state.machine.specification(of: definition.key)?.stopPlace ?? .unordered
            state.feed(.specificationChanged(specification))
            return true
        }
    }

    /// Has a child that runs follow its definition with its spares; one that doesn't run gets them with its next life.
    private func changeSpares(of key: String) {
        let (former, present) = state.withLock { state -> (SparePool?, SparePool?) in
            guard state.isRunning(key), let slot = state.slots.box(key) else { return (nil, nil) }
            guard slot.value.definition.isInWorker || slot.value.record.spares != nil else { return (nil, nil) }
            let former = prepareSpares(key, &slot.value)
            return (former, slot.value.record.spares)
        }
        former?.end()
        present?.fillSoon()
    }

    /// Puts the children into a start order, and into an order of stops; those that aren't named come first.
    func arrange(_ keys: [String], stoppingBefore others: [String: [String]]) {
        state.withLock { $0.machine.arrange(keys, stoppingBefore: others) }
    }

    /// Waits until the health of a child's present life, a program, was checked with success, or the life has ended.
    func firstHealth(of key: String) async -> Bool {
        await (state.withLock { $0.host(of: key) } as? ProgramHost)?.firstHealth.value ?? false
    }

    /// Whether the children are being stopped because the coordinator ends.
    var isEnding: Bool { state.withLock { $0.machine.isEnding } }

    /// Changes whether a child that is given up goes alone, or ends this supervisor; the root's always go alone.
    func isolateFailures(_ isolates: Bool) {
        state.withLock { $0.machine.isolateFailures(isolates || node.isRoot) }
    }
}
