import CMalloc
import Glibc

/// What processes use, as the kernel counts it.
enum ProcessUsage {
    /// The processor time that this process has used, in nanoseconds.
    static var processorTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The processor time that a process has used, in nanoseconds, to the clock tick.
    static func processorTime(of process: Int32) -> Int64 {
        let fields = text("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else { return 0 }
        return (user + system) * 1_000_000_000 / Int64(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The memory of this process that is resident, in bytes.
    static var residentBytes: Int {
        let fields = text("/proc/self/statm").split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
    }

    /// Returns to the system what the allocator keeps of memory that nothing uses any more.
    static func returnFreeMemory() { _ = malloc_trim(0) }

    /// The memory that a process shares with no other, in bytes.
    static func ownBytes(of process: Int32) -> Int {
        text("/proc/\(process)/smaps_rollup").split(separator: "\n").reduce(0) { sum, line in
            guard line.hasPrefix("Private_"), let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
                return sum
            }
            return sum + kilobytes * 1_024
        }
    }

    /// How often threads of a process have waited, and so were woken.
    static func waits(of process: Int32) -> Int {
        threads(of: process).reduce(0) { sum, thread in
            let status = text("/proc/\(process)/task/\(thread)/status").split(separator: "\n")
            let line = status.first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
        }
    }

    /// The number that a file of the kernel holds.
    static func integer(in path: String) -> Int? { Int(text(path).split(separator: "\n").first ?? "") }

    private static func threads(of process: Int32) -> [String] {
        guard let directory = opendir("/proc/\(process)/task") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func text(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
