import CProcess
import ConcurrencySupport
import Glibc

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
