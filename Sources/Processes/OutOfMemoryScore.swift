import Glibc

/// The score by which the kernel chooses what to end when memory runs out; see proc_pid_oom_score_adj(5).
///
/// A daemon that is spared has a negative one, which its children would inherit.
enum OutOfMemoryScore {
    /// Whether this process is spared.
    private static let isSpared: Bool = {
        guard let file = fopen("/proc/self/oom_score_adj", "re") else { return false }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 16)
        return fgets(&line, Int32(line.count), file) != nil && atoi(line) < 0
    }()

    /// Has a child be chosen as any other process, if this one is spared; called when it has memory of its own.
    static func reset(_ processID: Int32) {
        guard isSpared, let file = fopen("/proc/\(processID)/oom_score_adj", "we") else { return }
        fputs("0\n", file)
        fclose(file)
    }
}
