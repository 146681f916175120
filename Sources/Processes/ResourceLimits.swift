import CProcess
import Glibc

/// The limits of this process that matter when it spawns many children.
public enum ResourceLimits {
    /// The highest value that the soft limit is raised to: more than any supervisor needs, and bearable for programs that loop over all
    /// numbers.
    private static let ceiling: rlim_t = 1_048_576

    /// Raises the limit of open descriptors as far as the system allows (the hard limit, at most 1,048,576), and returns the soft limit
    /// after it.
    ///
    /// Never lowers it.
    ///
    /// Children inherit the limit. A failure leaves the limit as it is.
    @discardableResult
    public static func raiseOpenFiles() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return softLimit }
        let wanted = min(limit.rlim_max, ceiling)
        if limit.rlim_cur < wanted {
            limit.rlim_cur = wanted
            // A refusal is harmless, and shows in the result.
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return softLimit
    }

    /// The number of descriptors that this process may have open.
    public static var softLimit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// The number of descriptors that this process can still open.
    public static var descriptorRoom: Int { softLimit - openDescriptorCount }

    /// The number of descriptors that this process has open.
    ///
    /// Fast since Linux 6.2; before, it takes time per descriptor.
    public static var openDescriptorCount: Int {
        max(0, Int(coordinator_process_count_descriptors()))
    }
}
