import ConcurrencySupport
import Glibc
import Links
import Processes
import Supervision
import WireProtocol
import WorkerLifecycle

/// The workers that a killed root has left in the directory, until each is adopted or ended.
///
/// ``AdoptionMachine`` decides; the runtime carries out its decisions.
final class OrphanedWorkers: Sendable {
    typealias ID = AdoptionMachine.OrphanID

    /// A worker that lives without a parent.
    struct Orphan: Sendable {
        let id: ID
        let record: AdoptableWorker
        let family: ProcessFamily
        /// The processes below the worker, as it has reported them to its former parent.
        let below: [ProcessFamily]
        let secret: [UInt8]

        /// The user as whom the worker was started, from whom alone its link is taken.
        var user: UInt32 { record.user ?? geteuid() }
        var families: [ProcessFamily] { [family] + below }
    }

    private struct State {
        var machine: AdoptionMachine
        var orphans: [ID: Orphan]
        /// The links of workers that have dialled and haven't been welcomed.
        var links: [ID: (link: Link, hello: Hello)] = [:]
        /// The workers that starts adopt, and those that starts wait for.
        var promises: [CoordinatorPath: ID] = [:]
        var waits: [CoordinatorPath: [ID]] = [:]
        var isEnding: Set<ID> = []
        /// The calls to make when all starts were requested; `nil`: they were.
        var starts: [ObjectIdentifier: @Sendable () -> Void]? = [:]
    }

    private let state: Lock<State>
    /// The signals that a worker has dialled, or has ended, and that nothing is left of it.
    private let answers: [ID: OneShot<Void>]
    private let ends: [ID: OneShot<Void>]
    /// The entries of former journals that go on.
    let carried: [ProcessJournal.Entry]
    /// The paths of all orphans that there were.
    private let paths: Set<CoordinatorPath>

    /// Finds the orphans among the entries of former journals: those whose process lives, is of the user as whom it was
    /// started, and leads its session.
    init(_ entries: [ProcessJournal.Entry]) {
        var orphans: [ID: Orphan] = [:]
        var ended: [[String]: Incarnation] = [:]
        var carried: [ProcessJournal.Entry] = []
        let recorded = Dictionary(entries.filter { $0.record != nil }.map { ($0.family.leader, $0) }) { $1 }
        for entry in recorded.values {
            guard let record = entry.record, let path = CoordinatorPath(record.path), record.incarnation > 0 else { continue }
            guard let secret = record.secretBytes, !entry.family.entry.isEmpty, Self.isOurs(entry.family.leader, record) else {
                ended[path.keys] = max(ended[path.keys] ?? 0, record.incarnation)
                continue
            }
            let below = entries.filter { $0.worker == entry.family.entry && $0.family.leader.isAlive }
            let id = orphans.count
            orphans[id] = Orphan(id: id, record: record, family: entry.family, below: below.map(\.family), secret: secret)
            carried += [entry] + below
        }
        self.carried = carried
        paths = Set(orphans.values.compactMap { CoordinatorPath($0.record.path) })
        answers = orphans.mapValues { _ in OneShot() }
        ends = orphans.mapValues { _ in OneShot() }
        let machine = AdoptionMachine(
            orphans.mapValues { orphan in
                AdoptionMachine.Orphan(
                    path: CoordinatorPath(orphan.record.path)?.keys ?? [],
                    incarnation: orphan.record.incarnation,
                    fingerprint: orphan.record.fingerprint
                )
            },
            ended: ended
        )
        state = Lock(State(machine: machine, orphans: orphans))
    }

    private static func isOurs(_ process: ProcessIdentity, _ record: AdoptableWorker) -> Bool {
        process.isAlive && process.sessionID == process.processID && process.userID == record.user ?? geteuid()
    }

    /// Whether nothing is known of any path any more.
    var isEmpty: Bool { state.withLock { $0.machine.isEmpty } }

    var all: [Orphan] { state.withLock { Array($0.orphans.values) } }

    /// The marks by which the orphans and their descendants are known.
    var marks: Set<String> { Set(all.map(\.family.entry)) }

    /// The names of the files that belong to orphans.
    var files: Set<String> {
        Set(all.flatMap { [$0.record.output, $0.record.lockName].compactMap(\.self) })
    }

    // MARK: The roll call

    /// Keeps the link of a worker that has shown its secret, until a start adopts the worker.
    func park(_ link: Link, _ hello: Hello, of orphan: Orphan) {
        // Before a start can find the link, and hand it over itself.
        link.hand(
            over: Link.Handler(
                frameReceived: { link, _ in link.close(because: "a frame came before the welcome") },
                closed: { [weak self] link, _ in self?.drop(link, of: orphan) }
            )
        )
        let former = state.withLock { state -> Link? in
            guard state.orphans[orphan.id] != nil, !state.isEnding.contains(orphan.id) else { return link }
            state.machine.answer(orphan.id)
            defer { state.links[orphan.id] = (link, hello) }
            return state.links[orphan.id]?.link
        }
        former?.close()
        // One that was lost before it was kept.
        if link.isClosed { drop(link, of: orphan) }
        answers[orphan.id]?.settle(())
    }

    private func drop(_ link: Link, of orphan: Orphan) {
        state.withLock { if $0.links[orphan.id]?.link === link { $0.links[orphan.id] = nil } }
    }

    /// Waits until a worker has dialled or ended.
    func waitForAnswer(of orphan: Orphan, atMost limit: Duration) async {
        guard let answer = answers[orphan.id] else { return }
        let watch = Task {
            await orphan.family.leader.waitUntilGone()
            answer.settle(())
        }
        _ = await Patience.wait(for: answer, atMost: limit)
        watch.cancel()
    }

    /// Ends the roll call; returns the workers that haven't answered, to be ended.
    func endRollCall() -> [Orphan] { select { $0.endRollCall() } }

    /// Takes note that all starts were requested; returns the workers that none has asked for, to be ended.
    func settle() -> [Orphan] {
        defer { tellOfStarts() }
        return select { $0.settle() }
    }

    /// Takes note of the tree's end; returns the workers that are left, to be ended.
    func close() -> [Orphan] {
        _ = select { $0.close() }
        tellOfStarts()
        return all
    }

    private func tellOfStarts() {
        let calls = state.withLock { $0.starts.take() }
        for call in calls?.values.map(\.self) ?? [] { call() }
    }

    private func select(_ choose: (inout AdoptionMachine) -> [ID]) -> [Orphan] {
        state.withLock { state in choose(&state.machine).compactMap { state.orphans[$0] } }
    }

    // MARK: Starts

    /// Whether starts are still to come.
    var areStartsAwaited: Bool { state.withLock { $0.starts != nil } }

    /// Returns whether a coordinator lives in one of the workers, or has.
    func haveLived(at path: CoordinatorPath) -> Bool { paths.contains { path.isWithin($0) } }

    /// Returns whether one of the workers lives at a path or below it, or has.
    func haveLived(within path: CoordinatorPath) -> Bool { paths.contains { $0.isWithin(path) } }

    func whenStartsAreComplete(_ owner: ObjectIdentifier, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.starts?[owner] = body }
    }

    /// Takes note of the first request to start a path.
    ///
    /// - Returns: The incarnation after which the numbering goes on, and the workers to be ended, for which the start will wait.
    func claimPlace(_ path: CoordinatorPath, as place: AdoptionMachine.Place) -> (after: Incarnation, ends: [Orphan]) {
        state.withLock { state in
            let beginning = state.machine.claim(path.keys, as: place)
            if !beginning.waitsFor.isEmpty { state.waits[path] = beginning.waitsFor }
            state.promises[path] = beginning.adopts
            return (beginning.after, beginning.waitsFor.compactMap { state.orphans[$0] })
        }
    }

    /// Returns whether a start of the path adopts a worker.
    func isPromised(at path: CoordinatorPath) -> Bool { state.withLock { $0.promises[path] != nil } }

    /// Removes and returns the worker that a start adopts.
    func takePromised(at path: CoordinatorPath) -> Orphan? {
        state.withLock { state in state.promises.removeValue(forKey: path).flatMap { state.orphans[$0] } }
    }

    /// Returns the ends that a start waits for; `nil` when it needn't wait.
    func takeWait(at path: CoordinatorPath) -> [OneShot<Void>]? {
        state.withLock { $0.waits.removeValue(forKey: path) }?.compactMap { ends[$0] }
    }

    /// Takes note that a worker was adopted; returns its link, if it has one.
    func adopt(_ orphan: Orphan) -> (link: Link, hello: Hello)? {
        let parked = state.withLock { state in
            state.machine.adopt(orphan.id)
            state.orphans[orphan.id] = nil
            return state.links.removeValue(forKey: orphan.id)
        }
        ends[orphan.id]?.settle(())
        return parked
    }

    // MARK: Ends

    /// Begins a worker's end.
    ///
    /// - Returns: False when it has ended, or another caller is ending it.
    func beginEnd(of orphan: Orphan) -> Bool {
        let (isFirst, link) = state.withLock { state -> (Bool, Link?) in
            guard state.orphans[orphan.id] != nil else { return (false, nil) }
            return (state.isEnding.insert(orphan.id).inserted, state.links.removeValue(forKey: orphan.id)?.link)
        }
        link?.close()
        return isFirst
    }

    /// Takes note that nothing is left of a worker.
    func noteEnd(of orphan: Orphan) {
        state.withLock { state in
            state.machine.end(orphan.id)
            state.orphans[orphan.id] = nil
        }
        ends[orphan.id]?.settle(())
    }

    func waitForEnd(of orphan: Orphan) async { await ends[orphan.id]?.value }
}

extension CoordinatorPath {
    fileprivate var keys: [String] { components.map(String.init) }
}

// MARK: - The record by which a worker is adopted

/// The data by which the next root in the same directory adopts a worker, in the journal of processes: written before the worker gets its
/// ticket, or, by a process that has waited for its life, before it gets the life.
///
/// It contains the ticket's secret: the journal is readable by this user only, and no description of a worker shows it.
struct AdoptableWorker: Codable, Sendable, Hashable {
    let path: String
    let incarnation: UInt32
    /// The ticket's secret, in hexadecimal digits.
    let secret: String
    /// The worker's program and configuration, condensed.
    let fingerprint: String
    /// The user as whom the worker was started; `nil`: that of the root.
    var user: UInt32?
    /// The name of the FIFO that the worker writes its output to; `nil`: the output isn't captured.
    var output: String?
    /// The name of the lock that the worker holds; `nil`: the path's own lock, which a life that overlaps its former one can't have yet.
    var lock: String?
    /// The time at which the life took its predecessor's place, in nanoseconds of the monotonic clock; `nil`: before its birth.
    var place: Int64?

    /// The time since which the life is ready, in nanoseconds of the monotonic clock; `nil`: it isn't, or the record is one of a former version.
    var readySince: Int64?

    /// The name of the lock that the worker holds.
    var lockName: String { lock ?? RuntimeFiles.lockName(of: path) }

    /// The time at which the life took its predecessor's place, or one before its birth.
    var placeTime: MonotonicTime { MonotonicTime(nanoseconds: place ?? 0) }

    /// The secret as the worker shows it; `nil` when the record isn't one that this program has written.
    var secretBytes: [UInt8]? {
        let digits = secret.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 2 * Ticket.secretLength, digits.count == secret.utf8.count else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    static func digits(of secret: [UInt8]) -> String {
        secret.map { byte in "\(String(byte >> 4, radix: 16))\(String(byte & 15, radix: 16))" }.joined()
    }
}

extension AdoptableWorker {
    /// The record as one line of text without its end.
    var text: String {
        // Texts and a number can always be encoded; JSON has no line breaks of its own.
        (try? PayloadCoder.encode(self, as: .json)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Reads the text of a record; returns `nil` when it isn't one.
    init?(_ text: Substring) {
        guard let record = try? PayloadCoder.decode(Self.self, from: Bytes(Array(text.utf8)), codec: .json) else { return nil }
        self = record
    }
}

extension AdoptableWorker: CustomStringConvertible {
    /// The worker's place, without its secret.
    var description: String { "AdoptableWorker(\(path), incarnation: \(incarnation))" }
}

extension CoordinatorDefinition {
    /// Returns the program and the configuration of a worker, condensed; `nil` when this isn't one that may be adopted.
    ///
    /// A worker with the same fingerprint does what a new one would do, and writes its output to where it's read. The executable counts by
    /// its path, and the user and the group by their names: another program in the same file, or another number of the name, is used from the
    /// next life on.
    func fingerprint(_ defaultExecutable: String?, isCaptured: Bool) -> String? {
        guard case .worker(let typeName, let program, let plan) = place, let configuration = try? configuration.json() else { return nil }
        var fields: [JSONValue] = [
            .string(typeName), .string(program.executable ?? defaultExecutable ?? ""), .string(program.directory ?? ""),
            .array(program.arguments.map { .string($0) }), program.surroundings.condensedVariables, .bool(isCaptured), configuration,
        ]
        // Most workers have none of these, and the fingerprint that they have always had.
        let others = ProcessSurroundings(environment: program.environment, directory: program.directory)
        if program.surroundings != others { fields.append(program.surroundings.condensed) }
        if let limit = plan.dataLimit { fields.append(.string("data \(limit)")) }
        var hash = FNV1a()
        hash.add(JSONValue.array(fields))
        return hash.text
    }
}
