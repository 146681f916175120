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

extension ChildProcess {
    /// Changes the niceness and the limits of the process, which goes on, where two specifications differ; what isn't given any more becomes
    /// this process's.
    ///
    /// The niceness is that of all processes of its group; a limit is that of the process and of what it starts from now on. Follows
    /// https://man7.org/linux/man-pages/man2/prlimit.2.html and https://man7.org/linux/man-pages/man2/setpriority.2.html. This has no effect on
    /// a process that has ended.
    ///
    /// - Throws: The kernel's refusal, such as that of a higher limit or priority for a process that isn't root's; the rest is changed.
    package func change(from former: ProcessAttributes, to next: ProcessAttributes) throws(ProcessError) {
        guard exitStatus == nil else { return }
        var failure: ProcessError?
        if former.nice != next.nice {
            let error = coordinator_process_change_nice(identity.processID, next.nice == nil ? 1 : 0, Int32(clamping: next.nice ?? 0))
            if error != 0 { failure = ProcessError(error, action: "change the niceness of process \(identity.processID)") }
        }
        for resource in ProcessAttributes.Resource.allCases where former.limits[resource] != next.limits[resource] {
            let limit = next.limits[resource]
            let (soft, hard) = (limit?.soft ?? .max, limit?.hard ?? .max)
            let error = coordinator_process_change_limit(identity.processID, resource.number, limit == nil ? 1 : 0, soft, hard)
            if error != 0 {
                failure = ProcessError(error, action: "change the limit \(resource.rawValue) of process \(identity.processID)")
            }
        }
        if let failure, exitStatus == nil { throw failure }
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
