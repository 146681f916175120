package import ConcurrencySupport
import Logging
public import Ownership
import Placement

// The leader's work: it's elected, and writes which node gets which subtree.

extension ClusterNode {
    /// The time for which the node leads.
    struct Leadership {
        let epoch: Epoch
        /// The time from which it places subtrees, so that nodes that start together share them.
        let placesFrom: ContinuousClock.Instant
    }

    /// Begins an election when there is no leader.
    func considerElection() {
        if let leadership, view.leader?.epoch != leadership.epoch, view.revision.rawValue >= leadership.epoch.rawValue {
            self.leadership = nil
        }
        guard leadership == nil, !isElecting, lease != nil, !machine.isLeaving, view.leader == nil else { return }
        isElecting = true
        enqueueJob { await self.elect() }
    }

    private func elect() async {
        defer { isElecting = false }
        while let lease, view.leader == nil, !machine.isLeaving, !Task.isCancelled {
            do throws(StoreError) {
                guard case .granted(let epoch) = try await store.elect(owner, with: lease, until: tryEnd) else { return }
                guard self.lease == lease else { return }
                options.logger.notice("the node leads the cluster", metadata: ["epoch": "\(epoch)"])
                let pause = view.assignments.isEmpty ? options.terms.renewalInterval : .zero
                leadership = Leadership(epoch: epoch, placesFrom: .now + pause)
                return considerPlacement()
            } catch {
                if error.code == .leaseLost { return }
                try? await TimeSource.monotonic.sleep(until: .now + options.terms.pause)
            }
        }
    }

    /// Begins to place subtrees when the node leads.
    func considerPlacement() {
        guard leadership != nil, !isPlacing else { return }
        isPlacing = true
        enqueueJob { await self.place() }
    }

    private func place() async {
        defer { isPlacing = false }
        while let leadership, !Task.isCancelled {
            let wait = leadership.placesFrom - ContinuousClock.now
            if wait > .zero {
                try? await TimeSource.monotonic.sleep(until: .now + wait)
                continue
            }
            guard isViewNew else { return }
            isViewNew = false
            do throws(StoreError) {
                try await write(plan(), leadership.epoch)
            } catch {
                switch error.code {
                case .fenced: return self.leadership = nil
                // The watch brings what has changed.
                case .conflict: continue
                default:
                    isViewNew = true
                    try? await TimeSource.monotonic.sleep(until: .now + options.terms.pause)
                }
            }
        }
    }

    /// Returns the assignments that are to be written; `nil` for those of subtrees that aren't to run.
    private func plan() -> [(path: String, assignment: SubtreeAssignment?)] {
        let present = view.present
        let plan = Placer(rebalances: options.rebalances).plan(view.subtrees, on: view.members, from: present)
        var changes: [(path: String, assignment: SubtreeAssignment?)] = plan.moves.map { move in
            options.logger.notice(
                "a subtree gets a node",
                metadata: ["coordinator.path": "\(move.path)", "node": "\(move.to)", "reason": "\(move.reason)"]
            )
            return (move.path, SubtreeAssignment(node: move.to, failures: view.assignments[move.path]?.value.failures ?? []))
        }
        defer { unplaced = Set(plan.unplaced) }
        for unplaced in plan.unplaced where !self.unplaced.contains(unplaced) {
            options.logger.warning(
                "a subtree gets no node",
                metadata: ["coordinator.path": "\(unplaced.path)", "reason": "\(unplaced.reason)"]
            )
        }
        for path in view.assignments.keys {
            let isOver = view.wishes[path].map(\.value.isStopped) ?? (view.unreadable[.desired(path)] == nil)
            if isOver { changes.append((path, nil)) }
        }
        // The leader's own entries are written anew when they can't be read.
        for (path, node) in plan.assignments where view.unreadable[.assignment(path)] != nil && present[path] == node {
            changes.append((path, SubtreeAssignment(node: node, failures: view.assignments[path]?.value.failures ?? [])))
        }
        return changes
    }

    private func write(_ changes: [(path: String, assignment: SubtreeAssignment?)], _ epoch: Epoch) async throws(StoreError) {
        for (path, assignment) in changes {
            let key = StoreKey.assignment(path)
            let since = view.assignmentRevision(of: path)
            let revision = try await store.put(assignment?.json, for: key, guardedBy: .placement(by: epoch, since: since), until: tryEnd)
            let entry = assignment.map {
                StoreEntry(key: key, value: $0.json, created: since ?? revision, modified: revision, lease: nil)
            }
            view.anticipate(StoreChange(key: key, revision: revision, entry: entry))
            self.changes.noteChange()
        }
    }
}

// MARK: - What operators and the host ask for

extension ClusterNode {
    /// The cluster's keys as the node has seen them last.
    public var clusterView: ClusterView { view }

    /// Looks at what the node knows after each change of it, until there is a result, the time is over, or the task is cancelled.
    ///
    /// - Parameter interval: The time after which it looks also without a change, where the result depends on the time.
    nonisolated package func look<Value>(
        until end: MonotonicTime,
        atLeastEvery interval: Duration? = nil,
        _ look: () async -> Value?
    ) async -> Value? {
        while true {
            let seen = changes.count
            if let value = await look() { return value }
            guard .now < end, !Task.isCancelled else { return nil }
            await changes.change(after: seen, before: interval.map { min(end, .now + $0) } ?? end)
        }
    }

    /// The progress of the node's membership: `joining`, `member`, `frozen` or `left`.
    public var membership: String {
        switch machine.state {
        case .joining: "joining"
        case .member: "member"
        case .frozen: "frozen"
        case .left: "left"
        }
    }

    /// Makes known which subtrees are to run; pins and stops of operators stay.
    ///
    /// - Parameter changes: What the subtrees want, by path; `nil`: the subtree isn't to run any more.
    public func publish(_ changes: [String: PlacementConstraints?]) {
        wishes.merge(changes) { $1 }
        considerPublication()
    }

    func considerPublication() {
        guard !wishes.isEmpty, !isPublishing, lease != nil else { return }
        isPublishing = true
        enqueueJob { await self.publishAll() }
    }

    private func publishAll() async {
        defer { isPublishing = false }
        var isFailing = false
        while let (path, wish) = wishes.first, !Task.isCancelled {
            wishes[path] = nil
            do throws(StoreError) {
                try await change(path) { known in
                    guard var wish else { return nil }
                    (wish.pin, wish.isStopped) = (known?.pin, known?.isStopped ?? false)
                    return wish
                }
                isFailing = false
            } catch {
                // Once, and not with each try.
                if !isFailing, !Task.isCancelled {
                    options.logger.warning(
                        "what a subtree wants can't be made known yet",
                        metadata: ["coordinator.path": "\(path)", "error": "\(error)"]
                    )
                }
                isFailing = true
                if wishes[path] == nil { wishes[path] = .some(wish) }
                try? await TimeSource.monotonic.sleep(until: .now + options.terms.pause)
            }
        }
    }

    /// Pins a subtree to a node, or lets it go where it's placed; one that was given up is tried again.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - node: The node; `nil`: any.
    ///   - triesAgain: Whether it's tried again where it has failed.
    /// - Throws: ``StoreError`` when the store doesn't take it.
    public func pin(_ path: String, to node: NodeName?, triesAgain: Bool = true) async throws(StoreError) {
        if triesAgain { try await forgetFailures(of: path) }
        try await change(known: path) { $0.pin = node }
    }

    /// Stops a subtree on all nodes until it's started again, or starts it; one that was given up is tried again.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - isStopped: Whether it's stopped.
    /// - Throws: ``StoreError`` when the store doesn't take it.
    package func stopEverywhere(_ path: String, _ isStopped: Bool) async throws(StoreError) {
        if !isStopped { try await forgetFailures(of: path) }
        try await change(known: path) { $0.isStopped = isStopped }
    }

    /// Has a subtree tried again where it has failed.
    ///
    /// - Returns: The revision of the write; `nil`: it hadn't failed.
    @discardableResult
    package func forgetFailures(of path: String) async throws(StoreError) -> StoreRevision? {
        let listing = try await store.list(.key(.assignment(path)), until: tryEnd)
        guard let entry = listing.entries.first, var assignment = SubtreeAssignment(json: entry.value), !assignment.failures.isEmpty else {
            return nil
        }
        (assignment.failures, assignment.isGivenUp) = ([], false)
        return try await store.put(assignment.json, for: entry.key, guardedBy: .unchanged(since: entry.modified), until: tryEnd)
    }

    /// Changes what a subtree wants, if it's to run at all.
    private func change(known path: String, _ body: (inout PlacementConstraints) -> Void) async throws(StoreError) {
        try await change(path) { wish throws(StoreError) in
            guard var wish = wish ?? view.wishes[path]?.value else {
                if view.unreadable[.desired(path)] == nil { return nil }
                throw StoreError(
                    code: .unintelligible,
                    message:
                        "Could not change \(path): the entry \(StoreKey.desired(path)) can't be read. Reload a configuration that has it."
                )
            }
            body(&wish)
            return wish
        }
    }

    /// Has a node give its subtrees over and take none, or take some again.
    ///
    /// - Parameters:
    ///   - node: The node's name.
    ///   - isDraining: Whether it drains.
    /// - Returns: Whether there is such a node.
    /// - Throws: ``StoreError`` when the store doesn't take it.
    public func drain(_ node: NodeName, _ isDraining: Bool) async throws(StoreError) -> Bool {
        let key = StoreKey.node(node)
        while true {
            guard let entry = try await store.list(.key(key), until: tryEnd).entries.first, var record = NodeRecord(json: entry.value)
            else { return false }
            if record.isDraining == isDraining { return true }
            record.isDraining = isDraining
            do throws(StoreError) {
                try await store.put(record.json, for: key, guardedBy: .unchanged(since: entry.modified), until: tryEnd)
                return true
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
    }

    private func change(_ path: String, _ body: (PlacementConstraints?) throws(StoreError) -> PlacementConstraints?)
        async throws(StoreError)
    {
        let key = StoreKey.desired(path)
        while true {
            let entry = try await store.list(.key(key), until: tryEnd).entries.first
            let known = entry.flatMap { PlacementConstraints(json: $0.value) }
            let next = try body(known)
            if next == known, entry == nil || known != nil { return }
            do throws(StoreError) {
                try await store.put(next?.json, for: key, guardedBy: .unchanged(since: entry?.modified), until: tryEnd)
                return
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
    }
}
