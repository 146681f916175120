import ConcurrencySupport
import Processes
import WireProtocol

extension Node {
    /// Carries out an operator's request about a coordinator below this one; about the coordinator itself the only possible request is its
    /// description.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget = .initial) async throws -> JSONValue {
        guard let key = rest.first.map(String.init) else {
            if operation == .counters { return try runtime.counts.counters.encodedAsJSON() }
            guard operation == .inspect else {
                throw CoordinatorError(
                    .unsupported,
                    "\(path) is this process's own coordinator: its parent has to \(operation.rawValue) it"
                )
            }
            let children = await childSnapshots(budget)
            guard budget.asksForMailbox else { return try children.encodedAsJSON() }
            return try SelfDescription(mailbox: mailboxSnapshot, children: children).encodedAsJSON()
        }
        guard let children = existingChildren else { throw noSuchPath(key) }
        let rest = rest.dropFirst()
        if !rest.isEmpty || operation == .counters {
            return try await children.relay(operation, to: key, rest, budget)
        }
        if operation == .inspect { return try await children.snapshot(of: key, budget).encodedAsJSON() }
        // Nothing is asked of the child first, because it may hang, and be stopped or killed for that.
        let before = try children.summary(of: key).snapshot
        switch operation {
        case .inspect, .counters: break
        case .start: try await children.startAgain(key)
        case .stop: try await children.stop(key, initiator: .operator, forgets: false)
        case .restart: try await children.restart(key)
        case .replace: try await children.replace(key)
        case .kill: try children.kill(key)
        case .reload: try await children.reload(key)
        case .pause:
            // Otherwise the child's next life would begin paused, long after the operator's request.
            guard before.state != .inactive, before.state != .failed else {
                throw CoordinatorError(.stopped, "\(path.appending(key)) isn't running: there is nothing to pause")
            }
            try await children.setPaused(true, for: key, initiator: .operator)
        case .resume: try await children.setPaused(false, for: key, initiator: .operator)
        }
        // The parent may have removed the child since.
        let after = (try? await children.snapshot(of: key, budget)) ?? before.ended
        return try after.encodedAsJSON()
    }

    /// Returns the present snapshots of the children, with their subtrees; all processes below are asked at the same time.
    func childSnapshots(_ budget: TimeoutBudget = .initial) async -> [CoordinatorSnapshot] {
        guard let children = existingChildren else { return [] }
        let described = children.keys.map { (key: $0, asksOthers: children.asksOthers(about: $0)) }
        var snapshots = [CoordinatorSnapshot?](repeating: nil, count: described.count)
        await withTaskGroup(of: (Int, CoordinatorSnapshot?).self) { group in
            for (index, child) in described.enumerated() where child.asksOthers {
                group.addTask { (index, try? await children.snapshot(of: child.key, budget)) }
            }
            for (index, child) in described.enumerated() where !child.asksOthers {
                snapshots[index] = try? await children.snapshot(of: child.key, budget)
            }
            for await (index, snapshot) in group { snapshots[index] = snapshot }
        }
        return snapshots.compactMap(\.self)
    }
}
