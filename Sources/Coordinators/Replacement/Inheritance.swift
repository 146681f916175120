import ConcurrencySupport
import Processes
import Supervision

/// The remains of the former program in this process, each kept until it's taken over.
final class Inheritance: Sendable {
    private let state: Lock<RuntimeHeritage>
    /// The paths whose start was requested, and is about to take over its part.
    private let begun = Lock<Set<String>>([])
    /// The processes of all plain programs that were left.
    let leaders: Set<ProcessIdentity>
    /// The names of the files that belong to them.
    let files: Set<String>

    init(_ heritage: RuntimeHeritage) {
        state = Lock(heritage)
        leaders = Set(heritage.programs.map(\.process.identity))
        files = Set(heritage.programs.map { RuntimeFiles.notifyName(of: $0.path, $0.incarnation) })
    }

    /// Keeps the exit statuses of the programs until each is taken over; called before anything waits for children.
    func claim(by spawner: ProcessSpawner) { spawner.expect(state.withLock { $0.programs.map(\.process) }) }

    /// Takes note of the first request to start a child.
    ///
    /// - Returns: The incarnation after which the numbering of the path goes on: a program that lives on keeps its own.
    func begin(_ path: CoordinatorPath) -> Incarnation {
        let path = path.description
        begun.withLock { _ = $0.insert(path) }
        return state.withLock { heritage in
            let latest = heritage.incarnations.removeValue(forKey: path) ?? 0
            let kept = heritage.programs.first { $0.path == path }
            return kept.map { max($0.incarnation, 1) - 1 } ?? latest
        }
    }

    /// The latest incarnations of the children that nothing has started yet.
    var incarnations: [String: UInt32] { state.withLock { $0.incarnations } }

    /// Whether a program goes on at a path, which no start has taken over yet.
    func hasProgram(at path: CoordinatorPath) -> Bool {
        let path = path.description
        return state.withLock { $0.programs.contains { $0.path == path } }
    }

    /// Removes and returns the program that goes on at a path.
    func takeProgram(at path: CoordinatorPath) -> RuntimeHeritage.Program? {
        let path = path.description
        return state.withLock { heritage in
            heritage.programs.firstIndex { $0.path == path }.map { heritage.programs.remove(at: $0) }
        }
    }

    /// Returns the reasons for which a child begins paused, once.
    func takePause(of path: CoordinatorPath) -> PauseReasons {
        let path = path.description
        return state.withLock { heritage in
            guard let index = heritage.paused.firstIndex(of: path) else { return [] }
            heritage.paused.remove(at: index)
            return .explicit
        }
    }

    /// Removes and returns the programs that no start has taken over.
    func takeRest() -> [RuntimeHeritage.Program] {
        let begun = begun.withLock { $0 }
        return state.withLock { heritage in
            defer { heritage.programs.removeAll { !begun.contains($0.path) } }
            return heritage.programs.filter { !begun.contains($0.path) }
        }
    }
}
