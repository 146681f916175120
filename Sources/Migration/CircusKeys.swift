extension ForeignKeys {
    /// The keys of circus's files.
    ///
    /// https://circus.readthedocs.io/en/latest/for-ops/configuration/
    static let circus: [ForeignKeys] = [
        ForeignKeys(
            "watcher",
            effects: [
                ("cmd args shell executable", "command"), ("numprocesses", "instances"), ("working_dir", "directory"), ("uid", "user"),
                ("gid", "group"),
                ("copy_env", "inherit_environment"), ("priority", "after"), ("autostart", "autostart"), ("respawn", "restart"),
                ("graceful_timeout", "shutdown"), ("stop_signal", "stop_signal"), ("stop_children", "stop_group"),
                ("max_age", "recycle"), ("use_sockets", "sockets"), ("stdin_socket", "sockets"), ("rlimit_*", "limits"),
                ("stdout_stream.class stdout_stream.filename stdout_stream.max_bytes stdout_stream.backup_count", "logging"),
                ("close_child_stdout close_child_stderr", "command"), ("virtualenv", "environment"),
            ],
            notes: [
                ("max_retry", "a program that can't be executed is tried again for ever, with a wait that grows"),
                ("warmup_delay", "instances are started without a delay"), ("singleton", "a child without `instances` is one process"),
                ("on_demand", "the daemon doesn't wait for a connection before it starts a program"),
                ("send_hup", "a changed child is restarted; `coordinatorctl signal PATH HUP` sends the signal"),
                ("max_age_variance", "the age varies by a tenth"), ("copy_path", "write the path into PYTHONPATH of `environment`"),
                ("prereload_fn", "functions of Python aren't called"), ("shell_args", "arguments of the shell aren't carried over"),
                ("virtualenv_py_ver", "PATH leads to the virtual environment's own interpreter"),
                ("hooks.*", "functions of Python aren't called; a command can be: see `hooks`"),
                ("close_child_stdin", "standard input is at its end, and the terminal isn't passed on"),
                ("check_flapping", "limits of restarts are those of `restart_limits`"),
                (
                    "stderr_stream.class stderr_stream.filename stderr_stream.max_bytes stderr_stream.backup_count stderr_stream.*",
                    "both streams are in one file, and each line of it tells its stream"
                ),
                ("stdout_stream.time_format", "the time of each line is in UTC"), ("stdout_stream.color", "lines aren't coloured"),
                ("stdout_stream.rotate_when stdout_stream.rotate_interval stdout_stream.utc", "files are rotated by size, and not by time"),
                ("stdout_stream.*", "the stream has no such setting here"),
                ("name env rlimits hooks stdout_stream stderr_stream", "has a section or keys of its own"),
            ]
        ),
        ForeignKeys(
            "circus",
            effects: [("include include_dir", "children"), ("umask", "umask")],
            notes: [
                ("check_delay", "ends are noticed at once"), ("warmup_delay", "children are started without a delay"),
                (
                    "endpoint pubsub_endpoint multicast_endpoint stats_endpoint endpoint_owner",
                    "the daemon's control socket takes the place of endpoints: see `operators`"
                ),
                ("statsd", "coordinator-console serves the numbers for Prometheus"),
                ("httpd httpd_host httpd_port", "coordinator-console serves a page"),
                ("debug debug_gc loglevel logoutput loggerconfig", "the daemon logs to its standard error, and has the option --log-level"),
                ("pidfile", "the service manager knows the daemon's process; `coordinatorctl status /` shows it"),
                ("fqdn_prefix", "nodes have names in `cluster`"),
            ]
        ),
        ForeignKeys(
            "socket",
            effects: [("host port path", "sockets"), ("umask", "sockets")],
            notes: [
                ("name", "has a section of its own"), ("replace", "a socket at the path that nobody listens at is always replaced"),
                ("so_reuseport", "all instances share one socket"),
                (
                    "family type proto interface backlog blocking use_papa",
                    "sockets are streams, and the queue has the system's largest length"
                ),
            ]
        ),
        ForeignKeys("env", effects: [("*", "environment")], notes: []),
        ForeignKeys("plugin", effects: [], notes: [("use name priority *", "plugins aren't carried over")]),
    ]
}
