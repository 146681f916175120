import ConcurrencySupport
import Coordinators
import DaemonConfiguration

extension ConfiguredSupervisor {
    /// Shows that the supervisor takes messages.
    func answer() {}
}

extension ConfiguredChildren {
    /// Returns the paths of the children whose first start goes on: those that have neither become ready nor failed.
    ///
    /// A child that waits for one that has failed isn't among them, since nothing says when it will be started.
    func firstStarts(under parent: String = "") -> [String] {
        let (records, order) = state.withLock { ($0.records, $0.dependencies.startOrder) }
        let dependencies = dependencies
        var failed: Set<String> = []
        var starting: [String] = []
        for key in order {
            guard let record = records[key], let start = record.start else { continue }
            if record.hasCompleted { continue }
            if record.lastExit != nil || record.isHeld || !failed.isDisjoint(with: dependencies.before(key)) {
                failed.insert(key)
                continue
            }
            guard start.concluded.outcome == nil else { continue }
            let path = "\(parent)/\(key)"
            if let group = group(key), group.supervisor != nil {
                starting += group.firstStarts(under: path)
            } else {
                starting.append(path)
            }
        }
        return starting
    }

    /// A line about the children, those in groups included: how many are as they should be, and which aren't.
    var summary: String {
        var (count, active, others) = (0, 0, [String]())
        collect(under: "", &count, &active, &others)
        guard !others.isEmpty else { return count == 1 ? "1 child is active" : "all \(count) children are active" }
        return "\(active) of \(count) children are active; \(others.prefix(5).joined(separator: ", "))\(others.count > 5 ? ", …" : "")"
    }

    private func collect(under parent: String, _ count: inout Int, _ active: inout Int, _ others: inout [String]) {
        let supervisor = supervisor
        for child in children {
            let path = "\(parent)/\(child.key)"
            if let group = group(child.key) {
                group.collect(under: path, &count, &active, &others)
                continue
            }
            // What has run to its end is as it should be.
            if hasCompleted(child.key) { continue }
            // One that runs at times is as it should be between them.
            if child.runsAtTimesAlone, supervisor?.state(of: child.key) ?? .inactive == .inactive { continue }
            count += 1
            switch supervisor?.state(of: child.key) {
            case .active?: active += 1
            case let state:
                let other = isWaiting(child.key) || isHeld(child.key) ? "waiting" : "inactive"
                others.append("\(path) is \(state?.rawValue ?? other)")
            }
        }
    }

    /// The time that the children may take to stop, side by side where nothing orders them, as far as it's limited.
    var longestStop: Duration {
        dependencies.longest { key in
            if let group = group(key) { return group.longestStop }
            return child(key)?.shutdown.grace.map { min($0, .seconds(3_600)) } ?? .zero
        }
    }
}
