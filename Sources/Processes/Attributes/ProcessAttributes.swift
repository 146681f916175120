import CProcess
import Glibc

/// The attributes of a child process that it would otherwise inherit: its user, its priority, its limits.
///
/// They are set in the child before its program begins. An attribute that can't be set is an error of the start, never ignored.
public struct ProcessAttributes: Sendable, Hashable, Codable {
    /// The user as whom the process runs, a name or a number; nil: that of this process.
    ///
    /// Only root may choose another one. The process gets all groups of the user, as by initgroups(3), and the variables `HOME`, `USER`,
    /// `LOGNAME` and `SHELL` of the user, unless they are given.
    public var user: String?
    /// The group as which the process runs, a name or a number; nil: the user's own.
    public var group: String?
    /// The permissions that files of the process don't get when they are made, such as 0o027; see umask(2).
    public var umask: UInt32?
    /// The niceness, from -20, the highest priority, to 19; see nice(2).
    ///
    /// Only root may go below that of this process.
    public var nice: Int?
    /// The limits of what the process and its descendants may use.
    public var limits: [Resource: Limit]
    /// How much the process is one to be killed when the machine, or its control group, has no memory left, from -1000 (never) to 1000; see
    /// proc_pid_oom_score_adj(5).
    ///
    /// Only root may go below that of this process.
    public var oomScoreAdjustment: Int?
    /// The only parts of root's powers that the process has, whoever its user is, and that it and its descendants can get.
    ///
    /// Only root may choose them; nil: a process of root has those of this process, and any other has none.
    public var capabilities: Set<Capability>?
    /// The limits of the process together with its descendants; nil: those of this process.
    ///
    /// They need a control group that is left to this process.
    public var groupLimits: GroupLimits?

    /// Creates attributes; what isn't given is inherited.
    public init(
        user: String? = nil,
        group: String? = nil,
        umask: UInt32? = nil,
        nice: Int? = nil,
        limits: [Resource: Limit] = [:]
    ) {
        self.user = user
        self.group = group
        self.umask = umask
        self.nice = nice
        self.limits = limits
    }

    /// Whether all attributes are inherited.
    public var isEmpty: Bool { self == ProcessAttributes() }
}

extension ProcessAttributes {
    /// A resource that setrlimit(2) limits, by the name that it has there.
    public enum Resource: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
        /// The bytes of address space (RLIMIT_AS).
        case addressSpace = "as"
        /// The bytes of a core dump; 0 forbids core dumps (RLIMIT_CORE).
        case core
        /// The seconds of processor time (RLIMIT_CPU).
        case cpuTime = "cpu"
        /// The bytes of data (RLIMIT_DATA).
        case data
        /// The bytes of a file that is written (RLIMIT_FSIZE).
        case fileSize = "fsize"
        /// The bytes of memory that is locked into RAM (RLIMIT_MEMLOCK).
        case lockedMemory = "memlock"
        /// The number of descriptors (RLIMIT_NOFILE).
        case openFiles = "nofile"
        /// The number of processes and threads of the user, all of them together (RLIMIT_NPROC); root has no such limit.
        case processes = "nproc"
        /// The bytes of the first thread's stack (RLIMIT_STACK).
        case stack

        /// The number of the kernel.
        var number: Int32 {
            let resource =
                switch self {
                case .addressSpace: RLIMIT_AS
                case .core: RLIMIT_CORE
                case .cpuTime: RLIMIT_CPU
                case .data: RLIMIT_DATA
                case .fileSize: RLIMIT_FSIZE
                case .lockedMemory: __RLIMIT_MEMLOCK
                case .openFiles: RLIMIT_NOFILE
                case .processes: __RLIMIT_NPROC
                case .stack: RLIMIT_STACK
                }
            return Int32(resource.rawValue)
        }

        /// Whether the limit counts bytes.
        package var isInBytes: Bool {
            switch self {
            case .addressSpace, .core, .data, .fileSize, .lockedMemory, .stack: true
            case .cpuTime, .openFiles, .processes: false
            }
        }
    }

    /// The limit of a resource.
    public struct Limit: Sendable, Hashable, Codable {
        /// The limit that holds, which the process may raise up to ``hard``; nil: none.
        public var soft: UInt64?
        /// The limit that only root may raise; nil: none.
        public var hard: UInt64?

        /// No limit.
        public static let unlimited = Limit(soft: nil, hard: nil)

        /// Creates a limit.
        public init(soft: UInt64?, hard: UInt64?) {
            self.soft = soft
            self.hard = hard
        }

        /// Creates a limit that the process can't raise.
        public init(_ value: UInt64) { self.init(soft: value, hard: value) }
    }
}

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

/// The limits of a child together with all that descends from it, which the kernel holds by a control group; see cgroups(7).
public struct GroupLimits: Sendable, Hashable, Codable {
    /// The bytes of memory, beyond which the kernel kills a process of the group; nil: any number.
    public var memory: Int?
    /// The number of processors whose time the group may take, such as 0.5; nil: any number.
    public var cpus: Double?
    /// The number of processes and threads; nil: any number.
    public var pids: Int?

    /// Creates limits.
    public init(memory: Int? = nil, cpus: Double? = nil, pids: Int? = nil) {
        (self.memory, self.cpus, self.pids) = (memory, cpus, pids)
    }
}

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

/// A part of root's powers; see capabilities(7).
///
/// The cases are in the order of the kernel's numbers.
public enum Capability: String, Sendable, Hashable, Codable, CaseIterable {
    // What each one allows is said by the manual page.
    case chown, dacOverride = "dac_override", dacReadSearch = "dac_read_search", fowner, fsetid, kill, setgid, setuid, setpcap
    case linuxImmutable = "linux_immutable", netBindService = "net_bind_service", netBroadcast = "net_broadcast", netAdmin = "net_admin"
    case netRaw = "net_raw", ipcLock = "ipc_lock", ipcOwner = "ipc_owner", sysModule = "sys_module", sysRawio = "sys_rawio"
    case sysChroot = "sys_chroot", sysPtrace = "sys_ptrace", sysPacct = "sys_pacct", sysAdmin = "sys_admin", sysBoot = "sys_boot"
    case sysNice = "sys_nice", sysResource = "sys_resource", sysTime = "sys_time", sysTtyConfig = "sys_tty_config", mknod, lease
    case auditWrite = "audit_write", auditControl = "audit_control", setfcap, macOverride = "mac_override", macAdmin = "mac_admin", syslog
    case wakeAlarm = "wake_alarm", blockSuspend = "block_suspend", auditRead = "audit_read", perfmon, bpf
    case checkpointRestore = "checkpoint_restore"

    /// The kernel's number.
    public var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Finds a capability by its name, with or without `CAP_`, in small or capital letters.
    public init?(name: String) {
        let name = name.lowercased()
        self.init(rawValue: name.hasPrefix("cap_") ? String(name.dropFirst(4)) : name)
    }
}
