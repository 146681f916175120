extension ForeignKeys {
    /// The keys of systemd's files.
    ///
    /// systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.kill(5), systemd.resource-control(5), systemd.timer(5)
    static let systemd: [ForeignKeys] = [
        ForeignKeys(
            "Unit",
            effects: [
                ("After Before Wants", "after"), ("Requires BindsTo Requisite", "requires"),
                ("StartLimitIntervalSec StartLimitBurst StartLimitInterval", "restart_limits"),
            ],
            notes: [
                ("Description Documentation SourcePath", "write a comment"),
                (
                    "Condition* Assert*",
                    "conditions of a start aren't checked: let the command end with 0, or write a command `before_start` in `hooks`"
                ),
                (
                    "OnSuccess OnFailure Upholds Conflicts PartOf JoinsNamespaceOf RequiresMountsFor PropagatesReloadTo PropagateReloadTo ReloadPropagatedFrom PropagateReloadFrom PropagatesStopTo StopPropagatedFrom RequiresOverridable RequisiteOverridable BindTo WantsMountsFor",
                    "units have no such relation here: see `after`, `requires` and `hooks`"
                ),
                (
                    "StopWhenUnneeded RefuseManualStart RefuseManualStop AllowIsolate IgnoreOnIsolate DefaultDependencies CollectMode OnSuccessJobMode OnFailureJobMode OnFailureIsolate SurviveFinalKillSignal",
                    "how systemd's manager treats the unit has no meaning here"
                ),
                ("JobTimeoutSec JobRunningTimeoutSec JobTimeoutAction JobTimeoutRebootArgument", "see `start_timeout`"),
                (
                    "StartLimitAction FailureAction SuccessAction FailureActionExitStatus SuccessActionExitStatus RebootArgument",
                    "the machine isn't rebooted; `on_failure: end_daemon` ends the daemon"
                ),
            ]
        ),
        ForeignKeys(
            "Service",
            effects: [
                ("Type", "ready, or kind"), ("ExecStart", "command"), ("ExecStartPre ExecStop ExecStopPost ExecReload", "hooks"),
                ("Restart", "restart"),
                ("RestartSec StartLimitInterval StartLimitBurst", "restart_limits"), ("TimeoutSec TimeoutStopSec", "shutdown"),
                ("TimeoutStartSec", "start_timeout"),
                ("RuntimeMaxSec", "recycle"), ("WatchdogSec", "watchdog"), ("SuccessExitStatus", "exit_codes"),
                ("RestartPreventExitStatus", "final_exit_codes"),
                ("KillMode", "stop_group"), ("KillSignal", "stop_signal"), ("User", "user"), ("Group", "group"), ("UMask", "umask"),
                ("Nice", "nice"),
                ("WorkingDirectory", "directory"), ("Environment", "environment"), ("EnvironmentFile", "environment_files"),
                ("LimitCPU LimitFSIZE LimitDATA LimitSTACK LimitCORE LimitNOFILE LimitAS LimitNPROC LimitMEMLOCK", "limits"),
                ("StandardInput", "stdin"), ("StandardOutput StandardError", "logging"), ("OOMScoreAdjust", "oom_score_adj"),
                ("MemoryMax MemoryLimit CPUQuota TasksMax", "limits"), ("AmbientCapabilities", "capabilities"),
                ("Sockets", "sockets"),
            ],
            notes: [
                ("ExecStartPost ExecCondition", "no such moment: see `hooks`, and `ready` with a command"),
                ("PIDFile GuessMainPID ExitType", "the process that the daemon starts is the program: let it stay in the foreground"),
                ("BusName USBFunctionDescriptors USBFunctionStrings", "the program isn't ready by a bus: see `ready`"),
                ("FileDescriptorStoreMax FileDescriptorStorePreserve NonBlocking", "the program gets its `sockets` again after a restart"),
                ("RemainAfterExit", "what has ended isn't shown as running; what waits for a oneshot goes on by `requires`"),
                ("RestartForceExitStatus RestartMode RestartSteps RestartMaxDelaySec", "restarts are by `restart` and `restart_limits`"),
                (
                    "TimeoutAbortSec TimeoutStartFailureMode TimeoutStopFailureMode RuntimeRandomizedExtraSec",
                    "a time that is over has one consequence"
                ),
                ("StartLimitAction FailureAction RebootArgument", "the machine isn't rebooted; `on_failure: end_daemon` ends the daemon"),
                ("PermissionsStartOnly RootDirectoryStartOnly", "commands run as the program does"),
                ("NotifyAccess ReloadSignal", "the process itself and its descendants may notify"),
                (
                    "SendSIGKILL SendSIGHUP RestartKillSignal FinalKillSignal WatchdogSignal",
                    "what doesn't stop by its signal is killed, and what hangs is aborted"
                ),
                ("PassEnvironment UnsetEnvironment", "the program has the daemon's variables: see `inherit_environment`"),
                ("DynamicUser SupplementaryGroups PAMName", "a user has all of its groups, and has to exist"),
                (
                    "RemoveIPC CoredumpFilter TimerSlackNSec KeyringMode Personality IgnoreSIGPIPE UtmpIdentifier UtmpMode SetLoginEnvironment",
                    "the process keeps what it inherits"
                ),
                (
                    "IOSchedulingClass IOSchedulingPriority CPUSchedulingPolicy CPUSchedulingPriority CPUSchedulingResetOnFork CPUAffinity NUMAPolicy NUMAMask",
                    "how the kernel schedules it is as for the daemon; `nice` is a key, and chrt(1), ionice(1) and taskset(1) are commands"
                ),
                (
                    "StandardInputText StandardInputData OpenFile TTYPath TTYReset TTYVHangup TTYVTDisallocate TTYRows TTYColumns",
                    "programs have no terminal, and no given input"
                ),
                (
                    "SyslogIdentifier SyslogFacility SyslogLevel SyslogLevelPrefix LogLevelMax LogRateLimitIntervalSec LogRateLimitBurst LogExtraFields LogFilterPatterns LogNamespace",
                    "output is kept as it is, in the child's log"
                ),
                (
                    """
                    SecureBits CapabilityBoundingSet NoNewPrivileges ProtectProc ProcSubset SystemCallFilter SystemCallArchitectures SystemCallErrorNumber
                    SystemCallLog MemoryDenyWriteExecute RestrictNamespaces RestrictRealtime RestrictSUIDSGID RestrictAddressFamilies LockPersonality
                    RestrictFileSystems ReadWriteDirectories ReadOnlyDirectories InaccessibleDirectories ReadWritePaths ReadOnlyPaths InaccessiblePaths ExecPaths
                    NoExecPaths ExecSearchPath BindPaths BindReadOnlyPaths TemporaryFileSystem PrivateTmp PrivateDevices ProtectKernelTunables
                    ProtectKernelModules ProtectKernelLogs ProtectClock ProtectControlGroups NetworkNamespacePath IPCNamespacePath PrivateNetwork PrivateUsers
                    PrivateMounts PrivateIPC PrivatePIDs ProtectSystem ProtectHome MountFlags MountAPIVFS ProtectHostname SELinuxContext AppArmorProfile
                    SmackProcessLabel RootDirectory RootImage RootImageOptions RootImagePolicy MountImagePolicy ExtensionImagePolicy RootHash RootHashSignature
                    RootVerity RootEphemeral ExtensionDirectories ExtensionImages MountImages MemoryKSM
                    """,
                    "the daemon makes no sandbox: keep it for the daemon's own unit, where it holds for all children"
                ),
                (
                    "RuntimeDirectory* StateDirectory* CacheDirectory* LogsDirectory* ConfigurationDirectory* TimeoutCleanSec",
                    "directories aren't made: see `before_start` of `hooks`, or tmpfiles.d(5)"
                ),
                (
                    "SetCredential SetCredentialEncrypted LoadCredential LoadCredentialEncrypted ImportCredential",
                    "credentials aren't passed on: see `environment_files`"
                ),
                (
                    "LimitRSS LimitLOCKS LimitSIGPENDING LimitMSGQUEUE LimitNICE LimitRTPRIO LimitRTTIME",
                    "there is no such limit in `limits`"
                ),
                (
                    """
                    Slice AllowedCPUs StartupAllowedCPUs AllowedMemoryNodes StartupAllowedMemoryNodes CPUAccounting CPUWeight StartupCPUWeight CPUShares
                    StartupCPUShares CPUQuotaPeriodSec MemoryAccounting MemoryMin DefaultMemoryMin DefaultMemoryLow MemoryLow DefaultStartupMemoryLow StartupMemoryLow
                    MemoryHigh StartupMemoryHigh StartupMemoryMax MemorySwapMax StartupMemorySwapMax MemoryZSwapMax StartupMemoryZSwapMax MemoryZSwapWriteback
                    DeviceAllow DevicePolicy IOAccounting IOWeight StartupIOWeight IODeviceWeight IOReadBandwidthMax IOWriteBandwidthMax IOReadIOPSMax
                    IOWriteIOPSMax IODeviceLatencyTargetSec BlockIOAccounting BlockIOWeight StartupBlockIOWeight BlockIODeviceWeight BlockIOReadBandwidth
                    BlockIOWriteBandwidth TasksAccounting Delegate DelegateSubgroup DisableControllers IPAccounting IPAddressAllow IPAddressDeny
                    IPIngressFilterPath IPEgressFilterPath ManagedOOMSwap ManagedOOMMemoryPressure ManagedOOMMemoryPressureLimit
                    ManagedOOMMemoryPressureDurationSec ManagedOOMPreference BPFProgram SocketBindAllow SocketBindDeny RestrictNetworkInterfaces NFTSet OOMPolicy
                    MemoryPressureWatch MemoryPressureThresholdSec CoredumpReceive EffectiveMemoryMax EffectiveMemoryHigh EffectiveTasksMax
                    """,
                    "control groups have `memory`, `cpus` and `pids` of `limits` alone; keep the rest for the daemon's own unit"
                ),
            ]
        ),
        ForeignKeys(
            "Install",
            effects: [],
            notes: [
                ("WantedBy RequiredBy UpheldBy", "each child is started with the daemon, unless it has `autostart: false`"),
                ("Alias Also DefaultInstance", "a child has one name"),
            ]
        ),
        ForeignKeys(
            "Socket",
            effects: [("ListenStream FileDescriptorName SocketMode", "sockets"), ("Service", "children")],
            notes: [
                (
                    "ListenDatagram ListenSequentialPacket ListenFIFO ListenNetlink ListenSpecial ListenMessageQueue ListenUSBFunction",
                    "not carried over: `sockets` are of streams; the program opens others itself"
                ),
                ("Accept", "a program gets the socket itself, and no process for each connection"),
                ("*", "the daemon opens the socket: it has no such setting"),
            ]
        ),
        ForeignKeys(
            "Timer",
            effects: [("OnCalendar Persistent", "schedule"), ("Unit", "children")],
            notes: [
                (
                    "OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec OnUnitInactiveSec OnClockChange OnTimezoneChange",
                    "times are those of a calendar: see `schedule`"
                ),
                (
                    "AccuracySec RandomizedDelaySec FixedRandomDelay DeferReactivation RandomizedOffsetSec",
                    "a time is the minute that is given"
                ),
                ("WakeSystem RemainAfterElapse", "the machine isn't woken"),
            ]
        ),
    ]
}
