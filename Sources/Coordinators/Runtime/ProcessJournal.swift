import ConcurrencySupport
import Glibc
import Logging
import Processes
import Synchronization

/// The processes that a runtime has started and whose end it hasn't seen, in a file of its directory, so that the next runtime there can
/// adopt or end them when this one is killed.
///
/// One line for each beginning and each end, appended with a single write(2); the file is written anew when it has grown, and removed at an
/// orderly end.
final class ProcessJournal: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        var lines = 0
        var header = Header.current
        var living: [ProcessIdentity: Entry] = [:]
        /// Whether a file may exist.
        var isWritten = false
        var isClosed = false
        /// The error of the last write; 0 when the file is complete.
        var failure: Int32 = 0
    }

    private static let numbers = Atomic<Int>(0)

    private let directory: RuntimeFiles
    private let name = "\(getpid())-\(numbers.add(1, ordering: .relaxed).newValue)\(RuntimeFiles.journalSuffix)"
    private let state = Lock(State())
    private let calls: FileCalls
    /// The number of lines about ended processes before the file is rewritten.
    private let slack: Int
    private let completenessChanged: @Sendable (_ failure: Int32?) -> Void

    /// Creates a journal, which writes nothing yet.
    ///
    /// - Parameter completenessChanged: is called with an error number when the file can't be written any more, and with `nil` when it's
    ///   complete again.
    init(
        _ directory: RuntimeFiles,
        calls: FileCalls = .live,
        slack: Int = 1_024,
        completenessChanged: @escaping @Sendable (_ failure: Int32?) -> Void = { _ in }
    ) {
        self.directory = directory
        self.calls = calls
        self.slack = slack
        self.completenessChanged = completenessChanged
    }

    /// Creates the journal of a runtime, which logs when the file can't be written, once, and when it's complete again.
    convenience init(_ directory: RuntimeFiles, logger: Logger) {
        let trouble = Trouble<Int32> { change in
            var metadata: Logger.Metadata = ["runtime.directory": "\(directory.given ?? "")"]
            switch change {
            case .began(let failure):
                metadata["reason"] = "\(String(cString: strerror(failure)))"
                let message: Logger.Message = "the journal of processes can't be written; what is started now isn't kept by a next runtime"
                logger.error(message, metadata: metadata)
            case .ended: logger.notice("the journal of processes is complete again", metadata: metadata)
            }
        }
        self.init(directory) { failure in
            if let failure { trouble.failed(failure) } else { trouble.succeeded() }
        }
    }

    /// Writes the header, which names the journal's owner, before any process is started.
    func startJournal() {
        change { if !$0.isClosed, !$0.isWritten { rewrite(&$0) } }
    }

    /// Takes over the entries that the former program in this process has written, before the file is written anew.
    func carry(_ entries: [Entry]) {
        state.withLock { state in
            for entry in entries { state.living[entry.family.leader] = entry }
        }
    }

    /// Writes the journal anew as that of a root's life with this number, with what goes on from former journals: only then may those be
    /// removed.
    ///
    /// - Returns: Whether the file is complete.
    func succeed(_ epoch: UInt32, carrying entries: [Entry]) -> Bool {
        change { state in
            state.header.epoch = epoch
            for entry in entries { state.living[entry.family.leader] = entry }
            if !state.isClosed { rewrite(&state) }
        }
        return state.withLock { $0.isWritten && $0.failure == 0 }
    }

    /// Writes the file anew from what lives, unless it's complete.
    ///
    /// - Returns: An error number when the file can't be written; `nil` when it's complete.
    func complete() -> Int32? {
        change { state in
            if !state.isClosed, state.failure != 0 || !isLinked(state.descriptor) { rewrite(&state) }
        }
        return state.withLock { $0.failure == 0 ? nil : $0.failure }
    }

    /// Whether no process lives whose beginning was noted.
    var isEmpty: Bool { state.withLock { $0.living.isEmpty } }

    /// Notes a process that has begun.
    ///
    /// - Parameter worker: The mark's entry of the root's own worker that has reported the process; `nil`: the root has spawned it.
    func began(_ family: ProcessFamily, below worker: String? = nil) { began(Entry(family: family, worker: worker)) }

    /// Notes a process that has begun, unless it's noted already with more than this says.
    func began(_ entry: Entry) {
        change { state in
            let former = state.living[entry.family.leader]
            if former == entry || !entry.isAdoptable && former?.isAdoptable == true { return }
            state.living[entry.family.leader] = entry
            append(entry.line, &state)
        }
    }

    func ended(_ process: ProcessIdentity) {
        change { state in
            guard state.living.removeValue(forKey: process) != nil else { return }
            append("- \(process.processID) \(process.startTime)\n", &state)
        }
    }

    /// Removes the file, when none of the processes is left.
    func close() {
        state.withLock { state in
            state.isClosed = true
            if state.isWritten, let path = try? directory.file(name) { _ = calls.unlink(path) }
            closeDescriptor(&state)
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let failure = state.withLock { state -> Int32? in
            let before = state.failure
            body(&state)
            return (before == 0) == (state.failure == 0) ? nil : state.failure
        }
        if let failure { completenessChanged(failure == 0 ? nil : failure) }
    }

    /// Appends a line; a file that can't be written doesn't prevent a start, since the mark in the environment finds the processes too.
    private func append(_ line: String, _ state: inout State) {
        if state.isClosed { return }
        let isComplete = state.failure == 0 && isLinked(state.descriptor)
        if !isComplete || state.lines > 4 * state.living.count + slack {
            rewrite(&state)
            // A file that can't be shortened now can still be longer.
            guard isComplete, state.failure != 0 else { return }
        }
        state.lines += 1
        // An incomplete line would spoil the next one: without a descriptor, the next line rewrites the file.
        state.failure = write(line, to: state.descriptor)
        if state.failure != 0 { closeDescriptor(&state) }
    }

    /// Returns whether a descriptor is open and its file hasn't been removed.
    private func isLinked(_ descriptor: Int32) -> Bool { descriptor >= 0 && calls.linkCount(descriptor) > 0 }

    private func closeDescriptor(_ state: inout State) {
        if state.descriptor >= 0 { calls.close(state.descriptor) }
        state.descriptor = -1
    }

    private func rewrite(_ state: inout State) {
        state.failure = 0
        do {
            try replaceFile(&state)
        } catch let error as Failure {
            state.failure = error.errno
        } catch {
            state.failure = EIO
        }
    }

    private func replaceFile(_ state: inout State) throws {
        let path = try directory.file(name)
        let descriptor = calls.open("\(path).new", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw Failure(errno: -descriptor) }
        let text = state.header.text + state.living.values.map(\.line).joined()
        var failure = write(text, to: descriptor)
        if failure == 0 { failure = -calls.rename("\(path).new", path) }
        guard failure == 0 else {
            _ = calls.unlink("\(path).new")
            calls.close(descriptor)
            throw Failure(errno: failure)
        }
        closeDescriptor(&state)
        state.descriptor = descriptor
        state.isWritten = true
        state.lines = state.living.count
    }

    private struct Failure: Error {
        let errno: Int32
    }

    /// Writes a text, and returns an error number, or 0.
    private func write(_ text: String, to descriptor: Int32) -> Int32 {
        let bytes = Array(text.utf8)
        let count = calls.write(descriptor, bytes)
        // A disk takes a part when it's about to be full.
        return count == bytes.count ? 0 : count < 0 ? Int32(-count) : ENOSPC
    }
}

extension ProcessJournal {
    /// The journal's owner, and the boot in which it was written.
    struct Header: Equatable {
        let owner: ProcessIdentity
        /// The boot, and the namespace to which the process numbers belong.
        let boot: String
        /// The number of the owner's life among those of all roots in the directory; 0: its workers can't be adopted.
        var epoch: UInt32 = 0

        /// The header of this process, with the boot from which start times are counted.
        static let current = Header(owner: .current, boot: bootID)

        var text: String { "coordinators 1 \(owner.processID) \(owner.startTime) \(boot) \(epoch)\n" }

        /// Whether the owner still lives, and is responsible for the processes that it has started.
        var isAlive: Bool { boot == Self.bootID && owner.isAlive }

        /// Whether the journal's processes may still exist.
        var isOfThisBoot: Bool { boot == Self.bootID }

        private static let bootID: String = {
            let boot = RuntimeFiles.text(of: "/proc/sys/kernel/random/boot_id")?.filter { $0 != "\n" } ?? "unknown"
            var status = stat()
            return stat("/proc/self/ns/pid", &status) == 0 ? "\(boot)/\(status.st_ino)" : boot
        }()
    }

    /// A process that lives, and what is known of it.
    struct Entry: Equatable, Sendable {
        let family: ProcessFamily
        /// The mark's entry of the root's own worker that has reported the process; `nil`: the root has spawned it.
        var worker: String?
        /// The data by which a next root adopts the process; `nil`: it's ended first.
        var record: AdoptableWorker?
        /// The data by which a next root adopts a plain program; `nil`: it's ended first.
        var program: RuntimeHandover.Program?

        var line: String {
            let begin = "\(family.leader.processID) \(family.leader.startTime) "
            // To a former version the record is the name of a worker that there isn't: it ends the program.
            if let program { return "+ \(begin)\(family.entry) \(program.text)\n" }
            if let record { return "a \(begin)\(family.entry) \(record.text)\n" }
            guard let worker else { return "+ \(begin)\(family.entry)\n" }
            return "+ \(begin)\(family.entry.isEmpty ? Self.none : family.entry) \(worker)\n"
        }

        fileprivate init?(_ process: ProcessIdentity, _ fields: [Substring]) {
            let entry = fields.count > 3 && fields[3] != Self.none ? String(fields[3]) : ""
            family = ProcessFamily(leader: process, entry: entry)
            switch fields[0] {
            case "a": record = fields.count > 4 ? AdoptableWorker(fields[4]) : nil
            case "+" where fields.count > 4 && fields[4].hasPrefix("{"): program = RuntimeHandover.Program(fields[4])
            case "+": worker = fields.count > 4 ? String(fields[4]) : nil
            default: return nil
            }
        }

        init(
            family: ProcessFamily,
            worker: String? = nil,
            record: AdoptableWorker? = nil,
            program: RuntimeHandover.Program? = nil
        ) {
            (self.family, self.worker, self.record, self.program) = (family, worker, record, program)
        }

        /// Whether a next root adopts the process.
        fileprivate var isAdoptable: Bool { record != nil || program != nil }

        private static let none = "-"
    }

    /// The content of a journal's file.
    struct Content {
        let header: Header
        let entries: [Entry]

        var living: [ProcessFamily] { entries.map(\.family) }
    }

    /// Parses a file; returns `nil` when it isn't a journal.
    ///
    /// A last line that was cut off, because its writer was killed, is ignored.
    static func read(_ text: String) -> Content? {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        guard let first = lines.popFirst()?.split(separator: " "), first.count >= 5, first[0] == "coordinators", first[1] == "1",
            let owner = identity(first[2], first[3])
        else { return nil }
        var living: [ProcessIdentity: Entry] = [:]
        for line in lines {
            // The record at the end of a line may have spaces.
            let fields = line.split(separator: " ", maxSplits: 4)
            guard fields.count >= 3, let process = identity(fields[1], fields[2]) else { continue }
            if fields[0] == "-" { living[process] = nil } else if let entry = Entry(process, fields) { living[process] = entry }
        }
        let epoch = first.count > 5 ? UInt32(first[5]) : nil
        return Content(header: Header(owner: owner, boot: String(first[4]), epoch: epoch ?? 0), entries: Array(living.values))
    }

    /// Whether a file is a journal with records that this program understands: what ``read(_:)`` leaves out wouldn't be adopted.
    static func canRead(_ text: String) -> Bool {
        guard read(text) != nil else { return false }
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().dropFirst().allSatisfy { line in
            let fields = line.split(separator: " ", maxSplits: 4)
            if fields.first == "+", fields.count > 4, fields[4].hasPrefix("{") { return RuntimeHandover.Program(fields[4]) != nil }
            guard fields.first == "a" else { return fields.first == "+" || fields.first == "-" }
            return fields.count > 4 && AdoptableWorker(fields[4]) != nil
        }
    }

    private static func identity(_ processID: Substring, _ startTime: Substring) -> ProcessIdentity? {
        guard let processID = Int32(processID), processID > 1, let startTime = UInt64(startTime) else { return nil }
        return ProcessIdentity(processID: processID, startTime: startTime)
    }
}
