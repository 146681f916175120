import ConcurrencySupport
import Coordinators
import DaemonConfiguration
import Supervision

/// The exit code or the signal of an end, if it has one.
struct ExitNumbers: Codable {
    var code: Int32?
    var signal: Int32?

    init() {}

    init(_ reason: ExitReason) { (code, signal) = (reason.exitCode, reason.signal) }
}

/// A child that doesn't run, and isn't started by the next daemon in this process either.
struct Resting: Codable {
    /// The end of its last life.
    var lastExit: String?
    /// The numbers of that end; nil: a former version has left none.
    var exitNumbers: ExitNumbers?
    /// Whether it doesn't run because one that it requires doesn't.
    var isHeld = false
    /// Whether it's a program that runs once, and has ended as it should.
    var hasCompleted: Bool?
}

extension ConfiguredChildren {
    /// Returns the children that an operator has stopped, that have finished, or that were given up, by their paths; those in groups too.
    func resting(below parent: CoordinatorPath = .root) -> [String: Resting] {
        guard supervisor != nil else { return [:] }
        var resting: [String: Resting] = [:]
        for child in children {
            let path = parent.appending(child.key)
            if isRunning(child.key) || isWaiting(child.key) {
                if let group = group(child.key) { resting.merge(group.resting(below: path)) { $1 } }
            } else {
                resting[path.description] = Resting(
                    lastExit: lastExit(of: child.key),
                    exitNumbers: state.withLock { $0.records[child.key]?.exitNumbers },
                    isHeld: isHeld(child.key),
                    hasCompleted: hasCompleted(child.key)
                )
            }
        }
        return resting
    }

    /// Has the next life of each supervisor leave children alone that have rested.
    ///
    /// - Parameter ran: Whether the supervisor of these children ran: then those that haven't rested ran too, and go on, whatever has started
    ///   them.
    func rest(_ resting: [String: Resting], below parent: CoordinatorPath = .root, ran: Bool = true) {
        state.withLock { state in
            for child in state.children { state.resting[child.key] = resting[parent.appending(child.key).description] }
            state.continuing = ran ? Set(state.children.map(\.key).filter { state.resting[$0] == nil }) : []
        }
        for child in children {
            let path = parent.appending(child.key)
            group(child.key)?.rest(resting, below: path, ran: ran && resting[path.description] == nil)
        }
    }
}
