import DaemonConfiguration
import Glibc
import Processes

/// The file in which a daemon notes up to when the times of its children have been dealt with, so that the next one knows what was missed.
///
/// It has a line for each child, with tabs between: the seconds since 1970, the time zone (`-`: the machine's), the times, and the path. A
/// child of which a run waits for the end of the former one has a second line, `queued` and the path, which former versions neither write
/// nor read. systemd keeps the same of timers with `Persistent=`: https://www.freedesktop.org/software/systemd/man/latest/systemd.timer.html.
struct ScheduleFile: Sendable {
    /// What is noted of a child.
    struct Entry: Hashable, Sendable {
        /// The time up to which all has been dealt with, in seconds since 1970.
        let done: Int64
        /// The zone and the times: those of another file have another meaning.
        let times: String
        /// Whether a run waits for the end of the former one.
        var isQueued = false
    }

    /// The length of the longest file that is read, in bytes.
    private static let longest = 4 << 20
    /// The beginning of the line that says that a run waits.
    private static let queued = "queued\t"

    let path: String

    init(path: String) { self.path = path }

    /// Chooses the place: systemd's `StateDirectory=`, and else the runtime directory, which a boot may empty.
    init(_ runtime: RuntimeDirectory, _ variable: (String) -> String? = LogDirectory.environment) {
        let isService = variable("SYSTEMD_EXEC_PID").map { $0 == "\(getpid())" } ?? true
        let state = isService ? variable("STATE_DIRECTORY")?.split(separator: ":").first : nil
        path = state.map { "\($0)/schedules" } ?? runtime.file("schedules")
    }

    /// Returns what the file has, by paths; nothing when there is none.
    func entries() throws(ProcessError) -> [String: Entry] {
        do throws(RegularFile.Failure) {
            return Self.entries(in: String(decoding: try RegularFile.read(path, upTo: Self.longest), as: UTF8.self))
        } catch {
            if case .notOpened(ENOENT) = error { return [:] }
            throw ProcessError(code: .invalidSpecification, errno: 0, message: "Could not read \(path): \(error.explanation).")
        }
    }

    /// Returns what a text has, by paths; a line that isn't understood is left out.
    static func entries(in text: String) -> [String: Entry] {
        var entries: [String: Entry] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix(queued) {
                entries[String(line.dropFirst(queued.count))]?.isQueued = true
                continue
            }
            let fields = line.split(separator: "\t", maxSplits: 3, omittingEmptySubsequences: false)
            guard fields.count == 4, let done = Int64(fields[0]), done >= 0 else { continue }
            entries[String(fields[3])] = Entry(done: done, times: "\(fields[1])\t\(fields[2])")
        }
        return entries
    }

    /// Replaces what the file has.
    func replace(by entries: [String: Entry]) throws(ProcessError) {
        let text = entries.sorted { $0.key < $1.key }.map { path, entry in
            "\(entry.done)\t\(entry.times)\t\(path)\n" + (entry.isQueued ? "\(Self.queued)\(path)\n" : "")
        }.joined()
        let failure = FileCalls.live.replace(path, by: Array(text.utf8))
        guard failure == 0 else { throw ProcessError(failure, action: "replace \(path)") }
    }
}

extension ScheduleSettings {
    /// The zone and the times, as the file has them.
    var noted: String {
        "\(timeZone ?? "-")\t\(cron.description.split(whereSeparator: \.isWhitespace).joined(separator: " "))"
    }
}
