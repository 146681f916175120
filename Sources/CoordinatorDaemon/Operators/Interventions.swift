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

        mutating func count(_ path: String) -> UInt64 {
            count += 1
            if latest.count >= Interventions.capacity { latest = [:] }
            latest[path] = count
            return count
        }

        func hasCome(after number: UInt64, at path: CoordinatorPath) -> Bool {
            latest.contains { $0.value > number && Self.isPath($0.key, orAbove: path) }
        }

        static func isPath(_ text: String, orAbove path: CoordinatorPath) -> Bool { CoordinatorPath(text).map(path.isWithin) ?? false }
    }

    private let state = Lock(State())

    /// The number of beginnings and ends of commands so far.
    var count: UInt64 { state.withLock { $0.count } }

    /// Carries a command out that ends what runs at a path.
    ///
    /// - Returns: The command's result, and the number after which other commands may have ended what it has started.
    func carryOut<Result>(at path: CoordinatorPath, _ command: () async throws -> Result) async throws -> (Result, since: UInt64) {
        let beginning = openIntervention(at: path)
        do {
            let result = try await command()
            return (result, end(at: path, since: beginning))
        } catch {
            end(at: path, since: beginning)
            throw error
        }
    }

    /// Records the beginning of a stop, a restart or a kill; returns its number.
    func openIntervention(at path: CoordinatorPath) -> UInt64 {
        state.withLock { state in
            state.open[path.description, default: 0] += 1
            return state.count(path.description)
        }
    }

    /// Records the end of a command, which may have overtaken one that came after it.
    ///
    /// - Parameter beginning: The number of the command's own beginning.
    /// - Returns: The number after which other commands may have ended what this one has started: that of the end, or, if another has begun
    ///   or ended since, of the beginning.
    @discardableResult
    func end(at path: CoordinatorPath, since beginning: UInt64) -> UInt64 {
        state.withLock { state in
            let others = (state.open[path.description] ?? 1) - 1
            state.open[path.description] = others > 0 ? others : nil
            let isOvertaken = state.hasCome(after: beginning, at: path)
            let end = state.count(path.description)
            return isOvertaken ? beginning : end
        }
    }

    /// Returns whether a command about the path or one above is under way, or has begun or ended after that number.
    func hasCome(after number: UInt64, at path: CoordinatorPath) -> Bool {
        state.withLock { state in
            state.hasCome(after: number, at: path) || state.open.keys.contains { State.isPath($0, orAbove: path) }
        }
    }
}
