import CProcess
import ConcurrencySupport
import Glibc
import Synchronization

/// A control group of a child, version 2 (see cgroups(7)): it holds everything that descends from the child, also what has left the session
/// and cleared its environment, and the kernel kills all of it at once.
package struct ControlGroup: Sendable, Hashable {
    /// The directory of the group.
    package let directory: String

    /// The beginning of the names of all groups that are made here.
    private static let prefix = "coordinators-"

    /// The directory of this process's own group, if this process may make groups below it; nil otherwise.
    ///
    /// The group must have been left to this process: it belongs to this user, and, since everything belongs to root, root's must be marked
    /// as delegated (by systemd's `Delegate=`), or be the topmost one that is visible, as in a container. The kernel must be able to kill a
    /// group, which Linux can since 5.14.
    package static let own: String? = findOwn()

    private static let hasBegun = Atomic(false)

    /// Lets this process make groups, if it may, and removes those that a killed one has left without processes.
    ///
    /// A program that supervises and does nothing else calls this; any other's groups aren't touched.
    package static func enterLeaf() {
        guard !hasBegun.exchange(true, ordering: .acquiringAndReleasing), let own else { return }
        for group in ControlGroup(directory: own).groupsBelow where group.directory.hasPrefix("\(own)/\(prefix)") && group.isOld {
            rmdir(group.directory)
        }
    }

    /// Whether the group was made more than a minute ago: a younger one may be another daemon's, whose child isn't in it yet.
    private var isOld: Bool {
        var status = stat()
        return stat(directory, &status) == 0 && status.st_ctim.tv_sec < time(nil) - 60
    }

    /// Makes a group for a child, of the name of the entry of its mark; nil if it can't be made.
    package static func make(for entry: String) -> ControlGroup? {
        guard hasBegun.load(ordering: .acquiring), let own, !entry.isEmpty, mkdir("\(own)/\(prefix)\(entry)", 0o700) == 0 else {
            return nil
        }
        return ControlGroup(directory: "\(own)/\(prefix)\(entry)")
    }

    /// Returns the group that was made for a child; nil if there is none.
    static func existing(for entry: String) -> ControlGroup? {
        // The entry may come from a file or another process.
        guard hasBegun.load(ordering: .acquiring), let own, !entry.isEmpty, entry.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return nil }
        let directory = "\(own)/\(prefix)\(entry)"
        return access(directory, F_OK) == 0 ? ControlGroup(directory: directory) : nil
    }

    /// Kills all processes of the group and of the groups below it; those that fork at this moment are included.
    func kill() { _ = Self.write("1", to: "\(directory)/cgroup.kill") }

    /// The processes of the group and of the groups below it.
    var processes: [Int32] {
        let numbers = Self.text(of: "\(directory)/cgroup.procs").split(separator: "\n").compactMap { Int32($0) }
        return numbers + groupsBelow.flatMap(\.processes)
    }

    /// Removes the group and the groups below it; those that still have processes stay.
    package func remove() {
        // The kernel counts a process for a moment after its end.
        for _ in 0..<100 {
            for group in groupsBelow { group.remove() }
            guard rmdir(directory) != 0, errno == EBUSY, processes.isEmpty else { return }
            usleep(1_000)
        }
    }

    private var groupsBelow: [ControlGroup] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var groups: [ControlGroup] = []
        while let entry = readdir(stream) {
            guard entry.pointee.d_type == DT_DIR else { continue }
            // Unsafe: the name is a fixed array of the C structure, ended by NUL.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { groups.append(ControlGroup(directory: "\(directory)/\(name)")) }
        }
        return groups
    }

    // MARK: The own group

    private static func findOwn() -> String? {
        let lines = text(of: "/proc/self/cgroup").split(separator: "\n")
        guard let path = lines.first(where: { $0.hasPrefix("0::/") })?.dropFirst("0::".count), let mount = mountPoint(of: String(path))
        else {
            return nil
        }
        // A former program in this process, or systemd, has put it into the group below.
        let isBelow = path.hasSuffix("/\(supervisorName)")
        let directory = isBelow ? String(mount.directory.dropLast(supervisorName.count + 1)) : mount.directory
        let outer = isBelow ? max("/", path.dropLast(supervisorName.count + 1)) : path
        guard isLeftToUs(directory, isTopmost: outer == mount.root) else { return nil }
        return canKill(in: directory) ? directory : nil
    }

    /// Returns the directory of a group, and the path of the group that is visible as the topmost one.
    private static func mountPoint(of path: String) -> (directory: String, root: String)? {
        for line in text(of: "/proc/self/mountinfo").split(separator: "\n") {
            // The fields after the dash begin with the type of the file system; see proc_pid_mountinfo(5).
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), fields.count > dash + 1, dash > 4, fields[dash + 1] == "cgroup2" else { continue }
            let (root, point) = (String(fields[3]), String(fields[4]))
            if path == root { return (point, root) }
            let beginning = root == "/" ? root : root + "/"
            if path.hasPrefix(beginning) { return ("\(point)/\(path.dropFirst(beginning.count))", root) }
        }
        return nil
    }

    private static func isLeftToUs(_ directory: String, isTopmost: Bool) -> Bool {
        var status = stat()
        guard stat(directory, &status) == 0, status.st_uid == geteuid(), access("\(directory)/cgroup.procs", W_OK) == 0 else {
            return false
        }
        return geteuid() != 0 || isTopmost || ["user.delegate", "trusted.delegate"].contains { attribute($0, of: directory) == "1" }
    }

    private static func attribute(_ name: String, of directory: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 8)
        let count = coordinator_process_attribute(directory, name, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Returns whether groups can be made and killed.
    private static func canKill(in directory: String) -> Bool {
        let probe = "\(directory)/\(prefix)probe-\(getpid())"
        guard mkdir(probe, 0o700) == 0 else { return false }
        defer { rmdir(probe) }
        return access("\(probe)/cgroup.kill", W_OK) == 0
    }

    static func write(_ text: String, to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count
    }

    static func text(of path: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = coordinator_process_read_file(path, &bytes, bytes.count)
            guard count == bytes.count else { return String(decoding: bytes[..<max(count, 0)], as: UTF8.self) }
            bytes = [UInt8](repeating: 0, count: bytes.count * 4)
        }
    }
}

/// Limits of control groups. The kernel has them in groups whose parent has the controllers on, and such a parent may have no processes of its
/// own ("no internal processes" of cgroups(7)): a supervisor leaves its group for one below before it turns them on.
extension ControlGroup {
    /// The name of the group into which the supervisor moves.
    ///
    /// A unit of systemd with the same `DelegateSubgroup=` begins in it, so that systemd,
    /// which may put no process beside the groups of adopted children either, can start the next daemon.
    package static let supervisorName = "coordinators-daemon"

    private static let hasControllers = Lock(false)

    /// Has a group hold limits.
    ///
    /// - Throws: An error that says what is missing, when the kernel doesn't hold them: nothing is started without its limits.
    package static func hold(_ limits: GroupLimits, in group: ControlGroup?) throws(ProcessError) {
        guard let group, let own else { throw .noLimits("this process may make no control groups below its own") }
        try hasControllers.withLock { areOn throws(ProcessError) in
            if !areOn { try turnControllersOn(in: own) }
            areOn = true
        }
        try group.set(limits)
    }

    /// Turns the controllers of a group on for those below it, after its processes have moved to one of these.
    static func turnControllersOn(in directory: String) throws(ProcessError) {
        let names = ["cpu", "memory", "pids"]
        let available = Set(text(of: "\(directory)/cgroup.controllers").split { $0 == " " || $0 == "\n" }.map(String.init))
        let missing = names.filter { !available.contains($0) }
        guard missing.isEmpty else {
            throw .noLimits("the group \(directory) has no controllers for \(missing.joined(separator: ", "))")
        }
        let on = Set(text(of: "\(directory)/cgroup.subtree_control").split { $0 == " " || $0 == "\n" }.map(String.init))
        if on.isSuperset(of: names) { return }
        let supervisor = "\(directory)/\(supervisorName)"
        guard mkdir(supervisor, 0o755) == 0 || errno == EEXIST else {
            throw .noLimits("the group \(supervisor) can't be made: \(String(cString: strerror(errno)))")
        }
        // A process may be forked while the others move.
        for _ in 0..<100 {
            let processes = text(of: "\(directory)/cgroup.procs").split(separator: "\n")
            if processes.isEmpty { break }
            for process in processes { _ = write(String(process), to: "\(supervisor)/cgroup.procs") }
        }
        for name in names where !write("+\(name)", to: "\(directory)/cgroup.subtree_control") {
            throw .noLimits("the controller \(name) of \(directory) can't be turned on: \(String(cString: strerror(errno)))")
        }
    }

    /// Writes limits into the group's files.
    func set(_ limits: GroupLimits) throws(ProcessError) {
        var files: [(name: String, value: String)] = []
        if let memory = limits.memory { files.append(("memory.max", "\(memory)")) }
        // The time in microseconds, and the period in which it may be taken.
        if let cpus = limits.cpus { files.append(("cpu.max", "\(max(1_000, Int(cpus * 100_000))) 100000")) }
        if let pids = limits.pids { files.append(("pids.max", "\(pids)")) }
        for (name, value) in files where !Self.write(value, to: "\(directory)/\(name)") {
            throw .noLimits("\(directory)/\(name) can't be set to \(value): \(String(cString: strerror(errno)))")
        }
    }

    /// Returns the number of processes that the kernel has killed in the group of a child because its memory was at its limit.
    package static func outOfMemoryKills(in entry: String) -> Int {
        guard let group = existing(for: entry) else { return 0 }
        return outOfMemoryKills(events: text(of: "\(group.directory)/memory.events"))
    }

    static func outOfMemoryKills(events: String) -> Int {
        events.split(separator: "\n").lazy.map { $0.split(separator: " ") }.first { $0.first == "oom_kill" }?.last.flatMap { Int($0) } ?? 0
    }
}

extension ProcessError {
    fileprivate static func noLimits(_ reason: String) -> ProcessError {
        ProcessError(
            code: .permissionDenied,
            errno: EPERM,
            message:
                "Limits of memory, cpus and pids can't be held: \(reason). They need control groups of version 2 that are left to the daemon: "
                + "Delegate=yes and DelegateSubgroup=\(ControlGroup.supervisorName) in its unit, or a container that may write to /sys/fs/cgroup."
        )
    }
}
