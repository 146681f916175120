import ConcurrencySupport
import Glibc
import Logging
import Processes
import Supervision
import WireProtocol

/// What a program leaves to the one that takes its place in the same process, besides the workers, which the journal of processes lists.
package struct RuntimeHandover: Codable, Sendable {
    /// A plain program that lives on: in the next program of this process, or, by its line in the journal of processes, when this process is
    /// killed.
    struct Program: Codable, Sendable, Hashable {
        let path: String
        let incarnation: UInt32
        var process: KeptProcess
        /// The mark's entry by which its descendants are known.
        let entry: String
        let command: [String]
        /// What the process has of its specification, condensed; `nil`: the record is one of a former version.
        var fingerprint: String?
        /// Whether it has shown that it's ready.
        var isReady: Bool
        /// The time since which it's ready, in nanoseconds of the monotonic clock; `nil`: it isn't, or the record is one of a former version.
        var readySince: Int64?
        /// Its state, as it has told it.
        var status: String?
        /// The milliseconds that may pass between two signs of life, which the program may have changed.
        var watchdogMilliseconds: Int64?
        /// The signal that asks it to stop, and the milliseconds that it's given then, if nothing starts it any more; `nil`: SIGTERM, and any
        /// time.
        var stopSignal: Int32?
        var stopMilliseconds: Int64?
        /// The listening sockets that it was given.
        var sockets: [ListeningSocket.Holding]?

        var family: ProcessFamily { ProcessFamily(leader: process.identity, entry: entry) }

        /// The record as one line of text without its end.
        var text: String {
            // Texts and numbers can always be encoded; JSON has no line breaks of its own.
            (try? PayloadCoder.encode(self, as: .json)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }

    var programs: [Program] = []
    /// The latest incarnation of each child of this process's coordinators.
    var incarnations: [String: UInt32] = [:]
    /// The children that were paused by name.
    var paused: [String] = []

    /// The descriptors that the next program has too.
    package var descriptors: [Int32] { programs.flatMap(\.process.descriptors) }
    /// The paths of the plain programs that live on.
    package var keptPrograms: [String] { programs.map(\.path) }
}

extension RuntimeHandover.Program {
    /// Reads the text of a record; returns `nil` when it isn't one.
    init?(_ text: Substring) {
        guard let record = try? PayloadCoder.decode(Self.self, from: Bytes(Array(text.utf8)), codec: .json) else { return nil }
        self = record
    }
}

extension ProgramSpecification {
    /// What a process has of the specification, condensed: of two with the same fingerprint, one process does for the other.
    ///
    /// What only the parent uses isn't part of it: checks, times, and how the program is stopped.
    var fingerprint: String {
        var readiness = JSONValue.string("")
        if case .notify = self.readiness { readiness = "notify" }
        if case .descriptor(let number) = self.readiness { readiness = .string("\(number)") }
        var hash = FNV1a()
        hash.add(
            .array([
                .array(command.map { .string($0) }), surroundings.condensedVariables, .string(directory ?? ""),
                surroundings.condensed, readiness, .string(watchdog.map { "\($0)" } ?? ""), .array(sockets.texts.map { .string($0) }),
                .string("\(standardInput)"),
            ])
        )
        return hash.text
    }
}

// MARK: - What is inherited

/// The remains of the former program in this process, and the plain programs of a killed one, each kept until it's taken over.
final class PendingHandover: Sendable {
    private let state: Lock<RuntimeHandover>
    /// The paths whose start was requested, and is about to take over its part.
    private let begun = Lock<Set<String>>([])
    /// All plain programs that were left.
    private let programs: Lock<[RuntimeHandover.Program]>
    /// The processes that had ended before this one came.
    private let gone = Lock<Set<ProcessIdentity>>([])
    /// The listening sockets of programs that a killed process has left, until all starts were requested.
    private let sockets = Lock<[ListeningSocket]>([])

    init(_ handover: RuntimeHandover) {
        state = Lock(handover)
        programs = Lock(handover.programs)
    }

    /// Takes note of programs that a killed process has left, or of those in this process's journal that are known already.
    func add(_ orphans: [RuntimeHandover.Program]) {
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
    func hadEnded(_ program: RuntimeHandover.Program) -> Bool { gone.withLock { $0.contains(program.process.identity) } }

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
    func claimIncarnation(_ path: CoordinatorPath) -> Incarnation {
        let path = path.description
        begun.withLock { _ = $0.insert(path) }
        return state.withLock { handover in
            let latest = handover.incarnations.removeValue(forKey: path) ?? 0
            let kept = handover.programs.first { $0.path == path }
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

    /// Whether a program goes on at a path or below it, which no start has taken over yet.
    func hasProgram(within path: CoordinatorPath) -> Bool {
        state.withLock { $0.programs.contains { CoordinatorPath($0.path)?.isWithin(path) == true } }
    }

    /// Removes and returns the program that goes on at a path.
    func takeProgram(at path: CoordinatorPath) -> RuntimeHandover.Program? {
        let path = path.description
        return state.withLock { handover in
            handover.programs.firstIndex { $0.path == path }.map { handover.programs.remove(at: $0) }
        }
    }

    /// Has children begin paused.
    func pause(_ paths: [String]) { state.withLock { $0.paused += paths } }

    /// The children that are to begin paused, and haven't begun.
    var paused: [String] { state.withLock { $0.paused } }

    /// Returns the reasons for which a child begins paused, once.
    func takePause(of path: CoordinatorPath) -> PauseReasons {
        let path = path.description
        return state.withLock { handover in
            guard let index = handover.paused.firstIndex(of: path) else { return [] }
            handover.paused.remove(at: index)
            return .explicit
        }
    }

    /// Removes and returns all programs that are left, when the tree ends.
    func takeAll() -> [RuntimeHandover.Program] {
        sockets.withLock { $0 = [] }
        return state.withLock { handover in
            defer { handover.programs = [] }
            return handover.programs
        }
    }

    /// Removes and returns the programs that no start has taken over.
    func takeRest() -> [RuntimeHandover.Program] {
        sockets.withLock { $0 = [] }
        let begun = begun.withLock { $0 }
        return state.withLock { handover in
            defer { handover.programs.removeAll { !begun.contains($0.path) } }
            return handover.programs.filter { !begun.contains($0.path) }
        }
    }
}

// MARK: - Programs of a former process

/// The programs of the former program in this process, and those that a killed one has left in the directory.
extension RuntimeCore {
    /// Whether a process of a former root, or of the former program in this process, goes on at a path or below it, and waits to be taken
    /// over.
    func hasFormerLife(at path: CoordinatorPath) -> Bool {
        if pendingHandover?.hasProgram(within: path) == true { return true }
        guard hasOrphans, let orphans = handover.orphans.withLock({ $0 }), orphans.areStartsAwaited else { return false }
        return orphans.haveLived(at: path) || orphans.haveLived(within: path)
    }

    /// Ends the programs of a former process, or of the former program in this process, that no start has taken over.
    func endUnclaimedPrograms() async { await end(pendingHandover?.takeRest() ?? [], because: "nothing starts it any more") }

    func end(_ programs: [RuntimeHandover.Program], because reason: String) async {
        await withDiscardingTaskGroup { group in
            for program in programs { group.addTask { await self.end(program, because: reason) } }
        }
    }

    /// Ends a program that isn't taken over, in the way in which it was to be stopped, and returns when nothing is left of it.
    func end(_ program: RuntimeHandover.Program, because reason: String) async {
        observation.logger.notice(
            "a program of the former daemon is ended",
            metadata: [
                "coordinator.path": "\(program.path)", "child.pid": "\(program.process.identity.processID)", "reason": "\(reason)",
            ]
        )
        let receivers = processes.spawner.output.receivers(
            CoordinatorPath(program.path) ?? .root,
            program.incarnation,
            program.process.identity.processID
        )
        var isForeign = true
        if let process = try? await processes.spawner.spawner.adopt(program.process, killsGroupAtExit: false, receivers) {
            isForeign = process.isAdopted
            let grace = program.stopMilliseconds.map { Duration.milliseconds($0) } ?? .seconds(5)
            let signal = program.stopSignal.map { Signal(rawValue: $0) } ?? .terminate
            let exited = OneShot<Void>()
            var deadline = PatientDeadline(grace)
            process.onExit { _ in exited.settle() }
            try? process.send(signal)
            // One that is stopped by SIGSTOP goes on to its end.
            try? process.sendToGroup(.continue)
            // As at every end of a program, the others have what is left of the time.
            if await Patience.wait(for: exited, until: &deadline, reading: processes.spawner.spawner.readPending) != nil {
                _ = deadline.look()
                _ = await program.family.terminate(by: signal, hasToldGroup: false, until: deadline)
            } else {
                _ = await process.terminate(grace: .zero)
            }
        }
        await endRest(of: program, isForeign: isForeign)
    }

    /// Ends what a program has left that has ended.
    ///
    /// - Parameter isForeign: Whether the process wasn't this one's child: its orphans don't come here, and are sought everywhere.
    func endRest(of program: RuntimeHandover.Program, isForeign: Bool) async {
        await end([program.family], areRemembered: isForeign)
        if isForeign, pendingHandover?.hadEnded(program) != true { await endLeftoverProcesses(of: program.family) }
        for file in program.process.files { processes.directory.removeFile(String(file.split(separator: "/").last ?? "")) }
        await processEnded(program.family)
    }

    /// Takes copies of the listening sockets of programs that a killed process has left, so that a restart refuses no connection.
    func takeSockets(of programs: [RuntimeHandover.Program]) {
        for program in programs {
            guard let holdings = program.sockets, !holdings.isEmpty else { continue }
            let (sockets, failures) = ListeningSocket.takeFromHolder(holdings, from: program.process.identity)
            pendingHandover?.keep(sockets)
            for failure in failures {
                observation.logger.warning(
                    "the socket of an adopted program can't be shared: its next life, or another program, may find the address in use",
                    metadata: [
                        "coordinator.path": "\(program.path)", "child.pid": "\(program.process.identity.processID)",
                        "address": "\(failure.address)", "error": "\(failure.error)",
                    ]
                )
            }
        }
    }
}
