import ConcurrencySupport
import Coordinators

/// The latest commands that end what runs at a path, so that a start that one of them has overtaken isn't taken for a failure.
final class Interventions: Sendable {
    /// The number of paths that are remembered; beyond it the record begins anew.
    private static let capacity = 4_096

    private struct State {
        var count: UInt64 = 0
        var latest: [String: UInt64] = [:]
        /// The commands that are being carried out.
        var open: [String: Int] = [:]

        mutating func note(_ path: String) -> UInt64 {
            count += 1
            if latest.count >= Interventions.capacity { latest = [:] }
            latest[path] = count
            return count
        }
    }

    private let state = Lock(State())

    /// The number of beginnings and ends of commands so far.
    var count: UInt64 { state.withLock { $0.count } }

    /// Records the beginning of a stop, a restart or a kill.
    func begin(at path: CoordinatorPath) {
        state.withLock { state in
            state.open[path.description, default: 0] += 1
            _ = state.note(path.description)
        }
    }

    /// Records the end of a command, which may have overtaken one that came after it; returns the end's number.
    @discardableResult
    func end(at path: CoordinatorPath) -> UInt64 {
        state.withLock { state in
            let others = (state.open[path.description] ?? 1) - 1
            state.open[path.description] = others > 0 ? others : nil
            return state.note(path.description)
        }
    }

    /// Returns whether a command about the path or one above is under way, or has begun or ended after that number.
    func hasCome(after number: UInt64, at path: CoordinatorPath) -> Bool {
        state.withLock { state in
            let isAbove = { (text: String) in CoordinatorPath(text).map(path.isWithin) ?? false }
            return state.open.keys.contains(where: isAbove)
                || state.latest.contains { $0.value > number && isAbove($0.key) }
        }
    }
}
