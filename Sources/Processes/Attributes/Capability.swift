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
