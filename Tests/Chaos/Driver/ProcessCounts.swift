import ChaosHistory
import Glibc

/// What a process has, as /proc shows it; see proc(5).
enum ProcessCounts {
    /// Counts; `nil` when the process is gone.
    ///
    /// - Parameter directory: The runtime directory, whose files are counted too.
    static func sample(of process: ProcessLife, _ phase: Record.Sample.Phase, directory: String) -> Record.Sample? {
        let place = "/proc/\(process.processID)"
        guard let status = try? RunDirectory.text(of: "\(place)/status") else { return nil }
        func value(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
            return line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        return Record.Sample(
            phase,
            kibibytes: value("VmRSS"),
            descriptors: RunDirectory.names(in: "\(place)/fd").count,
            threads: value("Threads"),
            zombies: zombies(of: process.processID),
            files: RunDirectory.names(in: directory).count
        )
    }

    /// Each thread has the children that it has started.
    private static func zombies(of process: Int32) -> Int {
        let threads = RunDirectory.names(in: "/proc/\(process)/task")
        let children = threads.flatMap { thread in
            ((try? RunDirectory.text(of: "/proc/\(process)/task/\(thread)/children")) ?? "").split(separator: " ")
        }
        return children.count { child in
            let state = (try? RunDirectory.text(of: "/proc/\(child)/stat"))?.split(separator: ")").last?.split(separator: " ").first
            return state == "Z"
        }
    }
}
