import ConcurrencySupport
import Coordinators
import DaemonConfiguration
import Supervision

/// The exit code or the signal of an end, if it has one.
struct ExitNumbers: Codable, Equatable {
    var code: Int32?
    var signal: Int32?

    init() {}

    init(_ reason: ExitReason) { (code, signal) = (reason.exitCode, reason.signal) }
}

/// A child that doesn't run, and isn't started by the next daemon either: the one in this process, or the one after a kill.
struct RestingChild: Codable, Equatable {
    /// The end of its last life.
    var lastExit: String?
    /// The numbers of that end; nil: a former version has left none.
    var exitNumbers: ExitNumbers?
    /// Whether it doesn't run because one that it requires doesn't.
    var isHeld = false
    /// Whether it's a program that runs once, and has ended as it should.
    var hasCompleted: Bool?
    /// Whether a request has stopped it; nil in what a former version has left.
    var isStopped: Bool?
    /// Whether that is the first half of a restart; nil in what a former version has left.
    var isRestarting: Bool?
}

extension ConfiguredChildren {
    /// Returns the children that an operator has stopped, that have finished, or that were given up, by their paths; those in groups too.
    func resting(below parent: CoordinatorPath = .root) -> [String: RestingChild] {
        // What a former daemon has left is taken up with the first life of the supervisor.
        guard supervisor != nil else { return untaken(below: parent) { $0.resting } }
        var resting: [String: RestingChild] = [:]
        for child in children {
            let path = parent.appending(child.key)
            if isRunning(child.key) || isWaiting(child.key) {
                if let group = group(child.key) { resting.merge(group.resting(below: path)) { $1 } }
            } else {
                let record = state.withLock { $0.records[child.key] } ?? Record()
                resting[path.description] = RestingChild(
                    lastExit: record.lastExit,
                    exitNumbers: record.exitNumbers,
                    isHeld: record.isHeld,
                    hasCompleted: record.hasCompleted,
                    isStopped: record.isStopWanted,
                    isRestarting: record.isRestarting
                )
            }
        }
        return resting
    }

    /// Returns the paths of the children that run though their supervisor doesn't start them: an operator has.
    func startedByOperators(below parent: CoordinatorPath = .root) -> Set<String> {
        guard supervisor != nil else {
            return Set(untaken(below: parent) { state in Dictionary(uniqueKeysWithValues: state.continuing.map { ($0, ()) }) }.keys)
        }
        let children = children
        let starting = children.startedBySupervisor
        return children.reduce(into: []) { started, child in
            let path = parent.appending(child.key)
            guard isRunning(child.key) || isWaiting(child.key) else { return }
            // Those of the cluster's nodes, and those that run at times, are started by their own rules.
            if !starting.contains(child.key), child.placement == nil, !child.runsAtTimesAlone { started.insert(path.description) }
            if let group = group(child.key) { started.formUnion(group.startedByOperators(below: path)) }
        }
    }

    /// Returns what the next life of the supervisor takes up, and those in groups below, by their paths.
    private func untaken<Value: Sendable>(below parent: CoordinatorPath, _ values: (State) -> [String: Value]) -> [String: Value] {
        var found: [String: Value] = [:]
        for (key, value) in state.withLock({ values($0) }) { found[parent.appending(key).description] = value }
        for child in children {
            if let group = group(child.key) { found.merge(group.untaken(below: parent.appending(child.key), values)) { $1 } }
        }
        return found
    }

    /// Has the next life of each supervisor leave children alone that have rested, and start those that ran, whatever had started them.
    ///
    /// - Parameters:
    ///   - started: The paths of those that ran though their supervisor doesn't start them; nil: all that haven't rested ran.
    ///   - ran: Whether the supervisor of these children ran.
    func rest(
        _ resting: [String: RestingChild],
        startedByOperators started: Set<String>? = nil,
        below parent: CoordinatorPath = .root,
        ran: Bool = true
    ) {
        state.withLock { state in
            for child in state.children { state.resting[child.key] = resting[parent.appending(child.key).description] }
            state.continuing = []
            guard ran else { return }
            for key in state.children.map(\.key) where state.resting[key] == nil {
                if started?.contains(parent.appending(key).description) ?? true { state.continuing.insert(key) }
            }
        }
        for child in children {
            let path = parent.appending(child.key)
            group(child.key)?.rest(resting, startedByOperators: started, below: path, ran: ran && resting[path.description] == nil)
        }
    }
}
