import ConcurrencySupport
import Processes
import Supervision

/// The remains of the former program in this process, and the plain programs of a killed one, each kept until it's taken over.
final class Inheritance: Sendable {
    private let state: Lock<RuntimeHeritage>
    /// The paths whose start was requested, and is about to take over its part.
    private let begun = Lock<Set<String>>([])
    /// All plain programs that were left.
    private let programs: Lock<[RuntimeHeritage.Program]>
    /// The processes that had ended before this one came.
    private let gone = Lock<Set<ProcessIdentity>>([])
    /// The listening sockets of programs that a killed process has left, until all starts were requested.
    private let sockets = Lock<[ListeningSocket]>([])

    init(_ heritage: RuntimeHeritage) {
        state = Lock(heritage)
        programs = Lock(heritage.programs)
    }

    /// Takes note of programs that a killed process has left, or of those in this process's journal that are known already.
    func add(_ orphans: [RuntimeHeritage.Program]) {
        let leaders = leaders
        let orphans = orphans.filter { !leaders.contains($0.process.identity) }
        gone.withLock { $0.formUnion(orphans.map(\.process.identity).filter { !$0.isAlive }) }
        programs.withLock { $0 += orphans }
        state.withLock { $0.programs += orphans }
    }

    /// Keeps sockets open until all starts were requested.
    func keep(_ held: [ListeningSocket]) { sockets.withLock { $0 += held } }

    /// The processes of all plain programs that were left.
    var leaders: Set<ProcessIdentity> { Set(programs.withLock { $0 }.map(\.process.identity)) }

    /// The marks by which those that live and their descendants are known: what the others have left isn't spared.
    var marks: Set<String> { Set(programs.withLock { $0 }.filter { !hadEnded($0) }.map(\.entry)) }

    /// Whether a program had ended before this process came, which has ended what it had left.
    func hadEnded(_ program: RuntimeHeritage.Program) -> Bool { gone.withLock { $0.contains(program.process.identity) } }

    /// The names of the files that belong to them.
    var files: Set<String> {
        let programs = programs.withLock { $0 }
        let notify = programs.map { RuntimeFiles.notifyName(of: $0.path, $0.incarnation) }
        return Set(notify + programs.flatMap(\.process.files).map { String($0.split(separator: "/").last ?? "") })
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

    /// Has children begin paused.
    func pause(_ paths: [String]) { state.withLock { $0.paused += paths } }

    /// The children that are to begin paused, and haven't begun.
    var paused: [String] { state.withLock { $0.paused } }

    /// Returns the reasons for which a child begins paused, once.
    func takePause(of path: CoordinatorPath) -> PauseReasons {
        let path = path.description
        return state.withLock { heritage in
            guard let index = heritage.paused.firstIndex(of: path) else { return [] }
            heritage.paused.remove(at: index)
            return .explicit
        }
    }

    /// Removes and returns all programs that are left, when the tree ends.
    func takeAll() -> [RuntimeHeritage.Program] {
        sockets.withLock { $0 = [] }
        return state.withLock { heritage in
            defer { heritage.programs = [] }
            return heritage.programs
        }
    }

    /// Removes and returns the programs that no start has taken over.
    func takeRest() -> [RuntimeHeritage.Program] {
        sockets.withLock { $0 = [] }
        let begun = begun.withLock { $0 }
        return state.withLock { heritage in
            defer { heritage.programs.removeAll { !begun.contains($0.path) } }
            return heritage.programs.filter { !begun.contains($0.path) }
        }
    }
}
