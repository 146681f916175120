import ChaosHistory
import Glibc

/// The part of the history that this process writes.
///
/// Each record is one write(2) to a file that is open for appending: a `kill -9` loses none that was written, and cuts none in two.
struct Recorder: Sendable {
    static let plan = environmentPlan()
    static let process = ProcessLife(processID: getpid(), startTime: startTime())
    /// The beginnings and ends of lives, which the driver follows: one file of all processes.
    private static let lives = Recorder("lives")
    /// What is sent, settled and executed: a file of each process.
    private static let messages = Recorder("\(process)")

    private let descriptor: Int32

    private init(_ name: String) {
        descriptor = open("\(Self.plan.historyDirectory)/\(name)", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    }

    /// Records an event of this process.
    static func record(_ event: Record.Event) {
        let recorder =
            switch event {
            case .sent, .settled, .executed: messages
            default: lives
            }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let record = Record(time: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec), process: process, event)
        let line = Array("\(record)\n".utf8)
        guard write(recorder.descriptor, line, line.count) == line.count else { fatalError("the history can't be written: \(errno)") }
    }

    /// Records the beginning of a life, and holds its path's lock until the process has ended.
    ///
    /// The kernel gives the lock up after the last thread of a killed process has ended, and before its parent learns of the end. So a life
    /// that doesn't get it is one beside another.
    static func recordBegin(of path: String, incarnation: UInt32, as role: Record.Role) {
        let name = path.split(separator: "/").joined(separator: ".")
        let lock = open("\(plan.directory)/locks/\(name.isEmpty ? "root" : name)", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        record(.begun(path: path, incarnation: incarnation, role: role, isAlone: lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0))
    }

    private static func environmentPlan() -> Plan {
        guard let text = getenv(Plan.variable), let plan = Plan(String(cString: text)) else {
            print("ChaosTree is started by Tests/Chaos/run, which sets \(Plan.variable).")
            exit(64)
        }
        return plan
    }

    /// The 22nd field of /proc/self/stat; see proc_pid_stat(5).
    private static func startTime() -> UInt64 {
        guard let file = fopen("/proc/self/stat", "re") else { return 0 }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let text = String(decoding: buffer[..<fread(&buffer, 1, buffer.count, file)], as: UTF8.self)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 19 ? UInt64(fields[19]) ?? 0 : 0
    }
}
