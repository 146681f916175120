import ConcurrencySupport
import Coordinators
import DaemonConfiguration

/// What children wait for, among their siblings and in the rest of the file.
extension ConfiguredChildren {
    /// What a child waits for before it's started.
    struct Need {
        let place: Place
        let condition: DependencyCondition
        /// Whether the child doesn't start without it.
        let isRequired: Bool
        /// Whether the child is stopped when the other one is.
        var bindsStops: Bool { isRequired && condition != .completed }
    }

    /// Returns what a child among these waits for, in the file's order.
    func needs(of child: ConfiguredChild) -> [Need] {
        var names: Set<String> = []
        return (child.requires + child.after).filter { names.insert($0).inserted }.flatMap { name in
            places(named: name).map { place in
                let condition = child.conditions[name] ?? place.child.possibleConditions[0]
                return Need(place: place, condition: condition, isRequired: child.requires.contains(name) || condition == .completed)
            }
        }
    }

    /// Returns the children that a name among these means: that of a sibling, or a path; one of a child with instances means all of them.
    private func places(named name: String) -> [Place] {
        guard name.hasPrefix("/") else { return child(name).map { [Place(siblings: self, child: $0, parent: path)] } ?? [] }
        var levels = [root]
        let keys = name.split(separator: "/").map(String.init)
        for (index, key) in keys.enumerated() {
            let found = levels.flatMap { level in
                (level.child(key) == nil ? level.instances[key] ?? [] : [key]).map { (level, $0) }
            }
            if index == keys.count - 1 {
                return found.compactMap { level, key in level.child(key).map { Place(siblings: level, child: $0, parent: level.path) } }
            }
            levels = found.compactMap { level, key in level.group(key) }
        }
        return []
    }

    /// All children that wait for others, these and those in groups below, with what they wait for.
    private var waiting: [(place: Place, needs: [Need])] {
        children.flatMap { child -> [(place: Place, needs: [Need])] in
            let below = group(child.key)?.waiting ?? []
            guard !child.after.isEmpty || !child.requires.isEmpty else { return below }
            return [(Place(siblings: self, child: child, parent: path), needs(of: child))] + below
        }
    }

    /// Returns the children that don't go on, or don't start, without a child, also by way of others; each after those that need it.
    ///
    /// - Parameter isStop: Whether only those are meant that are stopped with the child.
    func requiring(_ place: Place, isStop: Bool) -> [Place] {
        let waiting = root.waiting
        var found: [Place] = []
        var seen: Set<CoordinatorPath> = [place.path]
        func visit(_ other: CoordinatorPath) {
            for (place, needs) in waiting where !place.path.isWithin(other) && !seen.contains(place.path) {
                let needsOther = needs.contains { ($0.bindsStops || !isStop && $0.isRequired) && $0.place.path.isWithin(other) }
                guard needsOther else { continue }
                seen.insert(place.path)
                visit(place.path)
                found.append(place)
            }
        }
        visit(place.path)
        return found
    }

    /// Returns the children without which one doesn't start, also by way of others, with their conditions; each after those that it needs.
    func required(by place: Place) -> [Need] {
        var found: [Need] = []
        var seen: Set<CoordinatorPath> = [place.path]
        func visit(_ place: Place) {
            for need in place.siblings.needs(of: place.child) where need.isRequired && seen.insert(need.place.path).inserted {
                visit(need.place)
                found.append(need)
            }
        }
        visit(place)
        return found
    }

    /// Starts what is held because a child among these didn't run, or hadn't completed, and what has all that it requires now.
    func startHeld(without key: String) async throws {
        guard let child = child(key) else { return }
        let place = Place(siblings: self, child: child, parent: path)
        for other in requiring(place, isStop: false).reversed() where other.siblings.isHeld(other.child.key) {
            guard other.siblings.required(by: other).allSatisfy({ $0.place.siblings.meets($0.place.child.key, $0.condition) }) else {
                continue
            }
            guard other.siblings.release(other.child.key), let supervisor = other.siblings.supervisor else { continue }
            other.siblings.recordExit(nil, of: other.child.key)
            try await supervisor.attempt(other.child)
            supervisor.arrange()
        }
    }

    /// Waits until others let a child among these start.
    ///
    /// - Returns: What is missing of what the child doesn't start without; nil when it can start.
    func wait(forNeedsOf child: ConfiguredChild) async -> Need? {
        for need in needs(of: child) {
            let (siblings, key) = (need.place.siblings, need.place.child.key)
            let isMet = await siblings.wait(for: key, toBe: need.condition)
            if !isMet, need.isRequired, !siblings.meets(key, need.condition) { return need }
        }
        return nil
    }

    private func wait(for key: String, toBe condition: DependencyCondition) async -> Bool {
        guard await waitForBeginning() else { return false }
        guard let start = state.withLock({ $0.records[key]?.start }) else { return meets(key, condition) }
        guard await start.concluded.value else { return false }
        switch condition {
        // It may have been ready long ago, and have been stopped or given up since.
        case .ready, .completed: return meets(key, condition)
        case .healthy: return await health(of: key).value
        }
    }

    /// Waits until the first starts among these children are known.
    ///
    /// - Returns: False when their supervisor doesn't run, and isn't about to.
    private func waitForBeginning() async -> Bool {
        if supervisor == nil, let parent = path.parent.flatMap({ root.group(at: $0) }) {
            guard await parent.waitForBeginning(), let start = parent.state.withLock({ $0.records[path.key]?.start }) else { return false }
            await start.requested.value
            if start.concluded.outcome == false { return false }
            await hasBegun.value
        }
        return supervisor != nil
    }

    func group(at path: CoordinatorPath) -> ConfiguredChildren? {
        path.components.reduce(self) { group, key in group?.group(String(key)) }
    }

    /// Whether a child is as another one wants it.
    func meets(_ key: String, _ condition: DependencyCondition) -> Bool {
        switch condition {
        case .ready: isRunning(key)
        case .healthy: isRunning(key) && health(of: key).outcome == true
        case .completed: hasCompleted(key)
        }
    }

    /// Whether the last life of a child that runs once has ended as it should.
    func hasCompleted(_ key: String) -> Bool { state.withLock { $0.records[key]?.hasCompleted ?? false } }

    // MARK: Health

    private func health(of key: String) -> OneShot<Bool> { change(key) { $0.health } ?? OneShot(false) }

    /// Notes that the health of a child was checked with success.
    func noteHealth(of key: String) { health(of: key).settle(true) }

    /// Ends the waits for the health of a child that has ended.
    func endHealth(of key: String) {
        let former = change(key) { record in
            defer { record.health = OneShot() }
            return record.health
        }
        former?.settle(false)
    }

    /// Has the health of a child's next life count, and not that of a former one.
    func renewHealth(of key: String) { change(key) { if $0.health.outcome != nil { $0.health = OneShot() } } }
}
