import Glibc

/// What the machine, and the process of the daemon, say about themselves.
struct MachineFacts {
    /// The process whose limits count: the daemon's, or this one when there is no daemon.
    var process: Int32
    /// Whether that is the daemon.
    var isDaemon: Bool

    /// Returns a number that a file holds alone.
    static func number(in path: String) -> Int? {
        FileText.contents(of: path).flatMap { text in Int(text.split { $0 == "\n" || $0 == " " }.first ?? "") }
    }

    /// Returns the soft limit of that name in /proc/PID/limits; `Int.max` when there is none, nil when it can't be read.
    func limit(_ name: String) -> Int? {
        guard let text = FileText.contents(of: "/proc/\(process)/limits") else { return nil }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        let value = line.dropFirst(name.count).split(separator: " ").first.map(String.init) ?? ""
        return value == "unlimited" ? .max : Int(value)
    }

    /// The number of open descriptors.
    var openDescriptors: Int? {
        // The directory is opened here too, when it is this process's own.
        FileNames.inDirectory("/proc/\(process)/fd").map { max(0, $0.count - (isDaemon ? 0 : 1)) }
    }

    /// Returns a value of /proc/meminfo in bytes.
    static func memory(_ name: String) -> Int? {
        guard let text = FileText.contents(of: "/proc/meminfo") else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") }.map { $0 * 1024 }
    }

    /// The directory of the process's control group in the unified hierarchy; nil when it has none.
    var controlGroup: String? {
        guard let text = FileText.contents(of: "/proc/\(process)/cgroup") else { return nil }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("0::") }) else { return nil }
        let path = "/sys/fs/cgroup" + line.dropFirst(3)
        return access(path + "/cgroup.procs", F_OK) == 0 ? path : nil
    }

    /// The release of the kernel, as major and minor number.
    static var kernel: (text: String, major: Int, minor: Int)? {
        guard let text = FileText.contents(of: "/proc/sys/kernel/osrelease")?.split(separator: "\n").first.map(String.init) else {
            return nil
        }
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        return numbers.count >= 2 ? (text, numbers[0], numbers[1]) : nil
    }

    /// The file of libnng that the process has loaded; nil when it has none, or can't be looked at.
    var libraryFile: String? {
        guard let text = FileText.contents(of: "/proc/\(process)/maps") else { return nil }
        let line = text.split(separator: "\n").first { $0.contains("/libnng.so") }
        return line?.split(separator: " ").last.map(String.init)
    }
}

/// The names in directories.
enum FileNames {
    /// Returns the names in a directory, without `.` and `..`; nil when it can't be read.
    static func inDirectory(_ path: String) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
