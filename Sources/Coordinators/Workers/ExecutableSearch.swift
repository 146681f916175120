import Glibc

/// The search for programs.
enum ExecutableSearch {
    /// Finds an executable as execvp(3) would, in a `PATH` that may be another process's.
    ///
    /// - Parameter directory: The directory that a relative path starts from.
    static func find(_ name: String, in path: String?, relativeTo directory: String?) -> String? {
        func isExecutable(_ candidate: String) -> Bool {
            let absolute = candidate.hasPrefix("/") ? candidate : "\(directory ?? ".")/\(candidate)"
            return access(absolute, X_OK) == 0
        }
        if name.contains("/") { return isExecutable(name) ? name : nil }
        return (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map { "\($0)/\(name)" }.first(where: isExecutable)
    }
}
