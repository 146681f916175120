import CProcess
import ConcurrencySupport
import Glibc

/// What a process has used, as the kernel counts it in /proc/PID/stat.
package struct ProcessUsage: Sendable, Equatable {
    /// The processor time in clock ticks, that of the kernel for it included.
    package var ticks: UInt64
    /// The memory in use, in bytes.
    package var residentBytes: UInt64
    /// The time at which the process began, in clock ticks since boot.
    package var startTime: UInt64

    package static let ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    private static let pageSize = UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))

    package init(ticks: UInt64, residentBytes: UInt64, startTime: UInt64) {
        (self.ticks, self.residentBytes, self.startTime) = (ticks, residentBytes, startTime)
    }
}

extension ProcessUsage {
    /// Reads what a process has used so far; nil when there is no such process, or another user's may not be read.
    package init?(of processID: Int32) {
        guard let fields = Self.fields(of: processID) else { return nil }
        self.init(fields)
    }

    /// Reads the kernel's line on a process.
    ///
    /// - Returns: Its fields from the third on; nil when there is no such process, or another user's may not be read.
    static func fields(of processID: Int32) -> [Substring]? {
        let descriptor = open("/proc/\(processID)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // The line is shorter, and the kernel makes it at the first reading.
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return fields(of: String(decoding: buffer[..<count], as: UTF8.self))
    }

    private static func fields(of line: String) -> [Substring]? {
        // The program's name, in parentheses, may hold spaces and parentheses itself.
        guard let nameEnd = line.lastIndex(of: ")") else { return nil }
        return line[line.index(after: nameEnd)...].split { $0 == " " || $0 == "\n" }
    }

    /// Returns the number of descriptors that a process has open; nil when there is no such process, or another user's may not be read.
    package static func openDescriptors(of processID: Int32) -> Int? {
        guard let directory = opendir("/proc/\(processID)/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        // Unsafe: the entry lives until the next call; only whether there is one matters.
        while readdir(directory) != nil { count += 1 }
        // Without the directory itself and its parent.
        return max(0, count - 2)
    }

    /// Reads the kernel's line; see proc_pid_stat(5).
    package init?(parsing line: String) {
        guard let fields = Self.fields(of: line) else { return nil }
        self.init(fields)
    }

    /// Reads the fields from the third on.
    init?(_ fields: [Substring]) {
        // Fields 14, 15, 22 and 24, counted from the third.
        guard fields.count > 21, let user = UInt64(fields[11]), let system = UInt64(fields[12]), let start = UInt64(fields[19]),
            let pages = Int64(fields[21])
        else { return nil }
        let bytes = UInt64(max(0, pages)).multipliedReportingOverflow(by: Self.pageSize)
        (ticks, residentBytes, startTime) = (user.addingSaturating(system), bytes.overflow ? .max : bytes.partialValue, start)
    }
}

/// The memory of this process's heap that nothing uses.
package enum FreeMemory {
    /// Has the heap keep one arena for each processor, at least two, where the C library would make eight: each stays as large as it was in
    /// the busiest moment that it has seen.
    ///
    /// This is for a process that is the runtime's alone, and holds for arenas that are made later: it's called before there are threads. The
    /// variable `MALLOC_ARENA_MAX` decides instead, if it's set; see mallopt(3).
    package static func limitArenas() {
        guard getenv("MALLOC_ARENA_MAX") == nil else { return }
        coordinator_process_limit_arenas(Int32(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 2)))
    }

    /// Gives the free memory back to the kernel, as far as whole pages are free.
    ///
    /// The call takes a millisecond for each few megabytes of heap, and holds up the allocations of other threads meanwhile; see
    /// malloc_trim(3).
    package static func giveBack() { coordinator_process_trim_memory() }

    /// Unmaps the code of the program and its libraries; what runs again is mapped again, from the memory in which the kernel keeps the file.
    ///
    /// A process that has begun needs a third of the code that its beginning took. The rest costs the kernel time at the end of the process.
    package static func unmapCode() { coordinator_process_unmap_code() }
}
