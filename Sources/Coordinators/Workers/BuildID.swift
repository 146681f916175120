import Glibc

/// The identification of an executable: only processes that run the same one may speak the compact codec.
enum BuildID {
    /// The running executable's inode, size and modification time, which differ after a rebuild.
    static let current: String = {
        var status = stat()
        guard stat("/proc/self/exe", &status) == 0 else { return "unknown-\(getpid())" }
        return "\(status.st_dev)-\(status.st_ino)-\(status.st_size)-\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }()
}
