import CProcess
import Glibc

extension ChildProcess {
    /// Limits the data that the process may have (`RLIMIT_DATA`, in bytes), which are also what it has only reserved; the kernel refuses it more.
    ///
    /// This has no effect on a process that has ended. Follows https://man7.org/linux/man-pages/man2/prlimit.2.html.
    public func limitData(to bytes: Int) {
        guard exitStatus == nil else { return }
        _ = coordinator_process_limit_data(identity.processID, UInt64(max(bytes, 0)))
    }
}

extension ProcessIdentity {
    /// The bytes of memory that the process occupies (the second field of `/proc/PID/statm`); `nil` when the process is gone.
    public var residentBytes: Int? {
        guard let file = fopen("/proc/\(processID)/statm", "re") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return nil }
        let fields = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
