import Control
import Glibc
import Processes
import WireProtocol

/// The checks of what a daemon and its tree need, with or without a running daemon.
struct Doctor {
    private let directory: RuntimeDirectory
    private let tree: Result<TreeNode, ControlError>
    private let metrics: TreeMetrics?
    private let facts: MachineFacts

    /// Examines what the daemon of a runtime directory says.
    init(_ directory: RuntimeDirectory) {
        self.directory = directory
        do throws(ControlError) {
            var client = try BlockingControlClient(runtimeDirectory: directory, timeout: .seconds(2))
            tree = .success(try ControlJSON.decode(TreeNode.self, from: try client.call(.tree)))
            metrics = try? ControlJSON.decode(TreeMetrics.self, from: try client.call(.metrics))
        } catch {
            (tree, metrics) = (.failure(error), nil)
        }
        let daemon = (try? tree.get())?.pid
        facts = MachineFacts(process: daemon ?? getpid(), isDaemon: daemon != nil)
    }

    /// All findings; those that matter most first.
    var findings: [Finding] {
        [
            daemon, leftPrograms, children, cluster, clusterFiles, runtimeDirectory, staleFiles, descriptors, threads, memory, disk,
            library, kernel,
            processFiles, controlGroups, clock, logs,
        ]
        .compactMap { $0 }
    }

    private var owner: String { facts.isDaemon ? "the daemon" : "this shell" }

    // MARK: The daemon and its files

    private var daemon: Finding? {
        switch tree {
        case .success(let root):
            let uptime = Duration.milliseconds(root.uptimeMilliseconds).briefText
            return .ok("daemon", "process \(root.pid ?? 0) answers at \(directory.controlSocket), up \(uptime)")
        case .failure(let error) where error.code == .unreachable:
            return .warning(
                "daemon",
                "none runs at \(directory.controlSocket)",
                do: "start one: \(ControlError.startCommand(at: directory.controlSocket)); or name its --runtime-dir"
            )
        case .failure(let error) where error.code == .notPermitted:
            return .problem("daemon", error.message, do: "run this as root, or as the daemon's user")
        case .failure(let error):
            return .problem(
                "daemon",
                error.message,
                do: "look at the daemon's log, and at its process: ps -o pid,stat,wchan -C coordinatord"
            )
        }
    }

    private var leftPrograms: Finding? { (try? tree.get()) == nil ? LeftPrograms(in: directory).finding : nil }

    private var children: Finding? {
        guard let root = try? tree.get() else { return nil }
        let nodes = root.subtree.dropFirst()
        let trouble = nodes.filter { node in
            node.shownState?.isTrouble == true || node.executorSilenceMilliseconds != nil
        }
        guard let first = trouble.first else { return .ok("children", "\(nodes.count) coordinators and programs, none in trouble") }
        let names = trouble.prefix(5).map { "\($0.path) \($0.stateText)" }.joined(separator: ", ") + (trouble.count > 5 ? ", …" : "")
        let advice = "look at it: coordinatorctl status \(first.path); start it again: coordinatorctl restart \(first.path)"
        return .warning("children", "\(trouble.count) of \(nodes.count) in trouble: \(names)", do: advice)
    }

    /// The time for which a loss of the cluster's store is told, in seconds.
    private static let lossLimit = 86_400

    /// The node's membership, and what a loss of the store has stopped.
    private var cluster: Finding? {
        let check = "cluster"
        guard let cluster = metrics?.cluster else { return nil }
        let fences = cluster.onStoreLoss == "fence"
        let stopped = cluster.loss.map { $0.stopped.isEmpty ? "no child" : $0.stopped.joined(separator: " ") } ?? "no child"
        if let outdated = cluster.outdated {
            let effect: String =
                switch (cluster.membership, fences) {
                case ("frozen", _): "; its placed children go on (on_store_loss: freeze)"
                case (_, true) where cluster.loss?.secondsAbsent == nil && cluster.loss != nil:
                    "; it has stopped \(stopped) (on_store_loss: fence)"
                default: ""
                }
            let advice = "look at etcd: etcdctl endpoint status --cluster; the node joins by itself when the store answers"
            return .problem(check, outdated + effect, do: advice)
        }
        guard let loss = cluster.loss, loss.secondsAgo < Self.lossLimit else { return .ok(check, "the node is a member") }
        let ago = Duration.seconds(loss.secondsAgo).briefText
        let absence = loss.secondsAbsent.map { ", and was a member again after \(Duration.seconds($0).briefText)" } ?? ""
        return .warning(
            check,
            "\(ago) ago \(loss.reason): the node has stopped \(stopped) (on_store_loss: \(cluster.onStoreLoss))\(absence)",
            do: "see etcd's log of that time for slow disks and elections; a longer `ttl` outlasts longer pauses; "
                + "before `on_store_loss: freeze` read 'When the store is lost' in the documentation"
        )
    }

    /// The time before the end of a certificate from which on it's a warning.
    private static let earlyDays = 7

    /// The certificates and the secrets of a node.
    private var clusterFiles: Finding? {
        let check = "cluster files"
        guard let files = metrics?.clusterFiles, !files.isEmpty else { return nil }
        if let problem = files.lazy.compactMap(\.problem).first {
            return .problem(check, problem, do: "mend the file, and have it read: coordinatorctl config apply, or SIGHUP to the daemon")
        }
        guard let first = files.filter({ $0.expirySeconds != nil }).min(by: { ($0.expirySeconds ?? 0) < ($1.expirySeconds ?? 0) }),
            let end = first.expirySeconds
        else { return .ok(check, "\(files.count) files, all in use") }
        let days = (end - time(nil)) / 86_400
        let text = "\(first.path) expires first, in \(days) days"
        guard days < Self.earlyDays else { return .ok(check, text) }
        return .warning(check, text, do: "replace it; the daemon reads it by itself")
    }

    private var runtimeDirectory: Finding? {
        let check = "runtime directory"
        var status = stat()
        guard lstat(directory.path, &status) == 0 else {
            if errno == ENOENT { return .ok(check, "\(directory.path) isn't there; the daemon makes it") }
            return .problem(check, "\(directory.path): \(String(cString: strerror(errno)))", do: "name another with --runtime-dir")
        }
        let mode = status.st_mode & 0o7777
        let text = "\(directory.path), mode 0\(String(mode, radix: 8)), user \(status.st_uid)"
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return .problem(check, "\(directory.path) isn't a directory", do: "remove it, or name another directory with --runtime-dir")
        }
        guard mode & 0o022 == 0 else {
            return .problem(check, "other users may write to \(text)", do: "chmod go-w \(directory.path)")
        }
        do throws(FilePlace.Failure) {
            let owner = try FilePlace(directory.path, for: .runtimeDirectory).otherOwner
            if let owner, owner != status.st_uid {
                let reason = "the user \(owner) owns a directory on the way, and could replace \(text)"
                return .problem(check, reason, do: "name another with --runtime-dir")
            }
        } catch {
            return .problem(check, "\(directory.path): \(error)", do: "name another with --runtime-dir")
        }
        guard status.st_uid == geteuid() || geteuid() == 0 else {
            let command = "sudo -u '#\(status.st_uid)' coordinatorctl"
            return .warning(check, "\(text): another user's", do: "operate it as root, or as that user: \(command)")
        }
        return .ok(check, text)
    }

    private var staleFiles: Finding? {
        let names = (FileNames.inDirectory(directory.path) ?? []).filter { $0.hasSuffix(".sock") }
        guard !names.isEmpty, let table = FileText.contents(of: "/proc/net/unix") else { return nil }
        let bound = Set(table.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) })
        let real = directory.absolute()?.path ?? directory.path
        let stale = names.filter { !bound.contains("\(real)/\($0)") && !bound.contains(directory.file($0)) }
        if stale.isEmpty { return .ok("stale files", "none of \(names.count) sockets") }
        let list = stale.prefix(5).joined(separator: ", ") + (stale.count > 5 ? ", …" : "")
        return .warning("stale files", "no process listens at \(list)", do: "nothing: the next daemon in the directory removes them")
    }

    private var logs: Finding? {
        guard let metrics else { return nil }
        guard let directory = metrics.logsInMemory else { return .ok("logs", "the children's logs are on a disk, or where the file says") }
        return .warning(
            "logs",
            "the children's logs, in \(directory), are in memory, and gone with the next boot",
            do: "name a directory in the daemon's file: logging: { directory: /var/log/coordinator }"
        )
    }

    // MARK: Limits

    private var descriptors: Finding? {
        guard let limit = facts.limit("Max open files") else { return nil }
        let used = facts.openDescriptors
        let text = "\(owner) may open \(limit == .max ? "any number" : "\(limit)")" + (used.map { ", and has \($0)" } ?? "")
        let advice = "raise the limit: LimitNOFILE= in the unit file, or ulimit -n before the daemon"
        if let used, limit != .max, used > limit * 9 / 10 { return .problem("descriptors", text, do: advice) }
        // Each worker takes about four.
        if limit < 1024 || (used ?? 0) > limit / 10 * 7 { return .warning("descriptors", text, do: advice) }
        return .ok("descriptors", text)
    }

    /// nng starts threads in each process of coordinators, so the limits of threads bound the number of workers.
    private var threads: Finding? {
        guard let pids = MachineFacts.number(in: "/proc/sys/kernel/pid_max"),
            let most = MachineFacts.number(in: "/proc/sys/kernel/threads-max")
        else { return nil }
        let perUser = facts.limit("Max processes") ?? .max
        let perGroup = facts.controlGroup.flatMap { MachineFacts.number(in: $0 + "/pids.max") } ?? .max
        let limit = min(pids, most, perUser, perGroup)
        let used =
            FileText.contents(of: "/proc/loadavg")
            .flatMap { text in text.split { $0 == " " || $0 == "/" }.dropFirst(4).first.flatMap { Int($0) } } ?? 0
        // Ten of nng's, Swift's pool, and a few for timers, signals and logs.
        let perWorker = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 15
        let room = max(0, limit - used) / perWorker
        let text = "room for about \(room) workers: \(limit) threads at most, \(used) are there, a worker has about \(perWorker)"
        let advice = "raise the least of kernel.pid_max (\(pids)), kernel.threads-max (\(most)), ulimit -u and TasksMax= of the unit"
        if room < 10 { return .problem("threads", text, do: advice) }
        return room < 100 ? .warning("threads", text, do: advice) : .ok("threads", text)
    }

    private var memory: Finding? {
        guard let total = MachineFacts.memory("MemTotal"), let available = MachineFacts.memory("MemAvailable"), total > 0 else {
            return nil
        }
        let bound = facts.controlGroup.flatMap { MachineFacts.number(in: $0 + "/memory.max") }
        let group = bound.map { "; the control group may use \($0 >> 20) MiB" } ?? ""
        let text = "\(available >> 20) of \(total >> 20) MiB available\(group)"
        guard available < total / 10 else { return .ok("memory", text) }
        return .warning("memory", text, do: "see which process uses it: coordinatorctl top --sort memory")
    }

    private var disk: Finding? {
        var status = statvfs()
        guard statvfs(directory.path, &status) == 0, status.f_blocks > 0 else { return nil }
        let (free, total) = (UInt64(status.f_bavail) * UInt64(status.f_frsize), UInt64(status.f_blocks) * UInt64(status.f_frsize))
        let text = "\(free >> 20) of \(total >> 20) MiB free at \(directory.path)"
        let advice = "make room: without it a restarted daemon can't adopt its workers"
        if free < 1 << 20 { return .problem("disk", text, do: advice) }
        return free < 64 << 20 ? .warning("disk", text, do: advice) : .ok("disk", text)
    }

    // MARK: The system

    private var library: Finding? {
        guard let file = facts.libraryFile else { return nil }
        let resolved = realpath(file, nil)
        defer { free(resolved) }
        let name = resolved.map { String(cString: $0) } ?? file
        return .ok("libnng", "\(name), loaded by \(facts.isDaemon ? "the daemon" : "coordinatorctl"); tested with 1.5.2")
    }

    private var kernel: Finding? {
        guard let kernel = MachineFacts.kernel else { return nil }
        let number = kernel.major * 1000 + kernel.minor
        if number < 5004 {
            return .problem("kernel", "Linux \(kernel.text) has no descriptors of processes", do: "use Linux 5.4 or later")
        }
        if number < 5014 {
            return .warning(
                "kernel",
                "Linux \(kernel.text) has no cgroup.kill: descendants are ended one by one",
                do: "use Linux 5.14 or later"
            )
        }
        return .ok("kernel", "Linux \(kernel.text): descriptors of processes, subreaper, cgroup.kill")
    }

    /// Descendants that have left their group are found in /proc, by their environment and their parents.
    private var processFiles: Finding? {
        let table = FileText.contents(of: "/proc/self/mounts")?.split(separator: "\n") ?? []
        let mount = table.last { $0.split(separator: " ").dropFirst().first == "/proc" }
        guard let mount, mount.contains("hidepid=1") || mount.contains("hidepid=2") || mount.contains("hidepid=invisible") else {
            return .ok("/proc", "shows the processes of all users")
        }
        let advice = "mount /proc without hidepid, or run the daemon as root, when children run as other users"
        return .warning("/proc", "is mounted with hidepid", do: advice)
    }

    private var controlGroups: Finding? {
        guard let group = facts.controlGroup else {
            let text = "no unified hierarchy at /sys/fs/cgroup: descendants are found by their environment instead"
            return .ok("control groups", text)
        }
        guard access(group, W_OK) == 0 else {
            return .ok("control groups", "\(group) isn't delegated to \(owner); Delegate=yes in the unit lets cgroup.kill end descendants")
        }
        return .ok("control groups", "\(group) is delegated to \(owner)")
    }

    private var clock: Finding? {
        let source =
            FileText.contents(of: "/sys/devices/system/clocksource/clocksource0/current_clocksource")?.split(separator: "\n").first ?? "?"
        if ["hpet", "acpi_pm", "jiffies"].contains(String(source)) {
            return .warning(
                "clock",
                "the source \(source) is slow to read",
                do: "use a machine with a stable processor clock (tsc or kvm-clock)"
            )
        }
        return .ok("clock", "source \(source); time-outs use the monotonic clock, which steps of the wall clock don't move")
    }
}
