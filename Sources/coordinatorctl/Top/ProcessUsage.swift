import Glibc

/// What a process has used, as the kernel counts it in /proc/PID/stat.
struct ProcessUsage: Equatable {
    /// The processor time in clock ticks, that of the kernel for it included.
    var ticks: UInt64
    /// The memory in use, in bytes.
    var residentBytes: UInt64
    /// The time at which the process began, in clock ticks since boot.
    var startTime: UInt64

    static let ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    private static let pageSize = UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))
}

extension ProcessUsage {
    /// Reads what a process has used so far; nil when there is no such process, or another user's may not be read.
    init?(of processID: Int32) {
        guard let line = FileText.contents(of: "/proc/\(processID)/stat") else { return nil }
        self.init(parsing: line)
    }

    /// Reads the kernel's line; see proc_pid_stat(5).
    init?(parsing line: String) {
        // The program's name, in parentheses, may hold spaces and parentheses itself.
        guard let nameEnd = line.lastIndex(of: ")") else { return nil }
        let fields = line[line.index(after: nameEnd)...].split { $0 == " " || $0 == "\n" }
        // Fields 14, 15, 22 and 24, counted from the third.
        guard fields.count > 21, let user = UInt64(fields[11]), let system = UInt64(fields[12]), let start = UInt64(fields[19]),
            let pages = Int64(fields[21])
        else { return nil }
        (ticks, residentBytes, startTime) = (user + system, UInt64(max(0, pages)) * Self.pageSize, start)
    }
}

/// The text of small files, such as those of /proc.
enum FileText {
    /// Returns the text of a file, a megabyte of it at most; nil when it can't be read.
    static func contents(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 8192)
        while bytes.count < 1 << 20 {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return nil }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
