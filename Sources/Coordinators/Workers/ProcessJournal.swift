import ConcurrencySupport
import Glibc
import Processes
import Synchronization

/// The processes that a runtime has started and whose end it hasn't seen, in a file of its directory, so that the next runtime there can
/// end them when this one is killed.
///
/// One line for each beginning and each end, appended with a single write(2); the file is written anew when it has grown, and removed at an
/// orderly end.
final class ProcessJournal: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        var lines = 0
        var living: [ProcessIdentity: ProcessFamily] = [:]
        /// Whether a file may exist.
        var isWritten = false
        var isClosed = false
    }

    /// The number of lines about ended processes before the file is rewritten.
    private static let slack = 1_024
    private static let numbers = Atomic<Int>(0)

    private let directory: RuntimeFiles
    private let name = "\(getpid())-\(numbers.add(1, ordering: .relaxed).newValue)\(RuntimeFiles.journalSuffix)"
    private let state = Lock(State())

    init(_ directory: RuntimeFiles) { self.directory = directory }

    /// Writes the header, which names the journal's owner, before any process is started.
    func begin() {
        state.withLock { if !$0.isClosed, !$0.isWritten { rewrite(&$0) } }
    }

    /// Whether no process lives whose beginning was noted.
    var isEmpty: Bool { state.withLock { $0.living.isEmpty } }

    func began(_ family: ProcessFamily) {
        state.withLock { state in
            state.living[family.leader] = family
            append(Self.line(family), &state)
        }
    }

    func ended(_ process: ProcessIdentity) {
        state.withLock { state in
            guard state.living.removeValue(forKey: process) != nil else { return }
            append("- \(process.processID) \(process.startTime)\n", &state)
        }
    }

    /// Removes the file, when none of the processes is left.
    func close() {
        state.withLock { state in
            state.isClosed = true
            if state.isWritten, let path = try? directory.file(name) { unlink(path) }
            closeDescriptor(&state)
        }
    }

    /// Appends a line; a file that can't be written doesn't prevent a start, since the mark in the environment finds the processes too.
    private func append(_ line: String, _ state: inout State) {
        if state.isClosed { return }
        if !Self.isLinked(state.descriptor) || state.lines > 4 * state.living.count + Self.slack { return rewrite(&state) }
        state.lines += 1
        // An incomplete line would spoil the next one: without a descriptor, the next line rewrites the file.
        if !Self.write(line, to: state.descriptor) { closeDescriptor(&state) }
    }

    /// Returns whether a descriptor is open and its file hasn't been removed.
    private static func isLinked(_ descriptor: Int32) -> Bool {
        var status = stat()
        return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    private func closeDescriptor(_ state: inout State) {
        if state.descriptor >= 0 { Glibc.close(state.descriptor) }
        state.descriptor = -1
    }

    private func rewrite(_ state: inout State) {
        guard let path = try? directory.file(name) else { return }
        let descriptor = open("\(path).new", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let text = Header.current.text + state.living.values.map(Self.line).joined()
        guard Self.write(text, to: descriptor), rename("\(path).new", path) == 0 else {
            unlink("\(path).new")
            Glibc.close(descriptor)
            return
        }
        closeDescriptor(&state)
        state.descriptor = descriptor
        state.isWritten = true
        state.lines = state.living.count
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.write(descriptor, bytes, bytes.count) == bytes.count
    }
}

extension ProcessJournal {
    /// The journal's owner, and the boot in which it was written.
    struct Header: Equatable {
        let owner: ProcessIdentity
        /// The boot, and the namespace to which the process numbers belong.
        let boot: String

        /// The header of this process, with the boot from which start times are counted.
        static let current = Header(owner: .current, boot: bootID)

        var text: String { "coordinators 1 \(owner.processID) \(owner.startTime) \(boot)\n" }

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

    private static func line(_ family: ProcessFamily) -> String {
        "+ \(family.leader.processID) \(family.leader.startTime) \(family.entry)\n"
    }

    /// Parses a file; returns `nil` when it isn't a journal.
    ///
    /// A last line that was cut off, because its writer was killed, is ignored.
    static func read(_ text: String) -> (header: Header, living: [ProcessFamily])? {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        guard let first = lines.popFirst()?.split(separator: " "), first.count == 5, first[0] == "coordinators", first[1] == "1",
            let owner = identity(first[2], first[3])
        else { return nil }
        var living: [ProcessIdentity: ProcessFamily] = [:]
        for line in lines {
            let fields = line.split(separator: " ")
            guard fields.count >= 3, let process = identity(fields[1], fields[2]) else { continue }
            switch fields[0] {
            case "+": living[process] = ProcessFamily(leader: process, entry: fields.count > 3 ? String(fields[3]) : "")
            case "-": living[process] = nil
            default: continue
            }
        }
        return (Header(owner: owner, boot: String(first[4])), Array(living.values))
    }

    private static func identity(_ processID: Substring, _ startTime: Substring) -> ProcessIdentity? {
        guard let processID = Int32(processID), processID > 1, let startTime = UInt64(startTime) else { return nil }
        return ProcessIdentity(processID: processID, startTime: startTime)
    }
}
