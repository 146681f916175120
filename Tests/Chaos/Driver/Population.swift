import CProcess
import ChaosHistory
import Glibc

/// The lives of a run as the driver knows them: from what they write, and from their pidfds.
struct Population {
    struct Life {
        let process: ProcessLife
        let path: String
        let role: Record.Role
        /// The pidfd; -1: the process was gone before it could be opened.
        let descriptor: Int32
        var isReady = false
        var isGone: Bool
    }

    /// The latest life of each path.
    private var latest: [String: Life] = [:]
    /// Those before them that aren't gone.
    private var former: [Life] = []
    private let file: String
    private var descriptor: Int32 = -1
    /// The bytes of a line whose end wasn't read yet.
    private var rest: [UInt8] = []
    private let log: DriverLog

    init(_ plan: Plan, _ log: DriverLog) {
        file = plan.livesFile
        self.log = log
    }

    /// The lives that aren't gone, by path.
    var living: [Life] { latest.values.filter { !$0.isGone }.sorted { $0.path < $1.path } }

    /// All lives that aren't gone, those of paths that live again included.
    var remaining: [Life] { living + former }

    func life(at path: String) -> Life? { latest[path] }

    /// Returns whether all paths of a list live and are ready.
    func areUp(_ paths: [String]) -> Bool {
        paths.allSatisfy { path in latest[path].map { $0.isReady && !$0.isGone } ?? false }
    }

    /// Reads what has been written since, and looks which processes have ended.
    mutating func update() {
        for record in newRecords() { add(record) }
        noteEnds()
    }

    /// Adds a life that writes nothing itself.
    mutating func add(_ record: Record) {
        switch record.event {
        case .begun(let path, _, let role, _, _): begin(record.process, path, role)
        case .ready:
            if let path = latest.first(where: { $0.value.process == record.process })?.key { latest[path]?.isReady = true }
        default: break
        }
    }

    /// Sends a signal to a process, and never to another that has got its number.
    ///
    /// - Returns: Whether the process was there.
    func send(_ signal: Int32, to life: Life) -> Bool {
        isAlive(life) && coordinator_process_signal(life.descriptor, signal) == 0
    }

    /// Returns whether a process lives; the descriptor of one that is gone may be another's by now.
    func isAlive(_ life: Life) -> Bool { remaining.contains { $0.process == life.process } && !Self.hasEnded(life) }

    private mutating func begin(_ process: ProcessLife, _ path: String, _ role: Record.Role) {
        if let before = latest[path], !before.isGone {
            // A life that goes on beside the next one: the line of the next was read before this one is looked at.
            if !Self.hasEnded(before) { log.record(.alive, of: before.process) }
            former.append(before)
        }
        let descriptor = coordinator_process_open(process.processID)
        latest[path] = Life(process: process, path: path, role: role, descriptor: descriptor, isGone: descriptor < 0)
        if descriptor < 0 { log.record(.gone, of: process) }
    }

    private mutating func noteEnds() {
        for (path, life) in latest where !life.isGone && Self.hasEnded(life) {
            end(life)
            latest[path]?.isGone = true
        }
        for life in former where Self.hasEnded(life) { end(life) }
        former.removeAll { Self.hasEnded($0) }
    }

    private func end(_ life: Life) {
        log.record(.gone, of: life.process)
        close(life.descriptor)
    }

    private static func hasEnded(_ life: Life) -> Bool {
        var poll = pollfd(fd: life.descriptor, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&poll, 1, 0) != 0
    }

    private mutating func newRecords() -> [Record] {
        if descriptor < 0 { descriptor = open(file, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { rest += buffer[..<count] }
        guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        defer { rest.removeSubrange(...end) }
        return Record.read(String(decoding: rest[...end], as: UTF8.self)).records
    }
}

/// The part of the history that the driver writes.
final class DriverLog {
    private let descriptor: Int32

    init(_ plan: Plan) throws {
        descriptor = open("\(plan.historyDirectory)/driver", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DriverError("the history can't be written in \(plan.historyDirectory)") }
    }

    deinit { close(descriptor) }

    func record(_ event: Record.Event, of process: ProcessLife) {
        let line = Array("\(Record(time: Clock.now, process: process, event))\n".utf8)
        _ = write(descriptor, line, line.count)
    }
}

/// The machine's monotonic clock, in nanoseconds.
enum Clock {
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
