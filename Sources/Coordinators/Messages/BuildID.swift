import Glibc

/// The identification of an executable: only processes that run the same one may speak the compact codec.
enum BuildID {
    /// The running executable's inode, size and modification time, which differ after a rebuild.
    static let current = of("/proc/self/exe") ?? "unknown-\(getpid())"

    /// Returns the identification of the file at a path; `nil` if there is none.
    static func of(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return "\(status.st_dev)-\(status.st_ino)-\(status.st_size)-\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
}
