extension ForeignKeys {
    /// The keys of supervisord's files.
    ///
    /// http://supervisord.org/configuration.html
    static let supervisord: [ForeignKeys] = {
        let programs: [(String, String)] = [
            ("command", "command"), ("numprocs numprocs_start", "instances, or children"), ("priority", "after"),
            ("autostart", "autostart"),
            ("autorestart", "restart"), ("exitcodes", "exit_codes"), ("startsecs", "start_seconds"), ("startretries", "restart_limits"),
            ("stopsignal", "stop_signal"), ("stopwaitsecs", "shutdown"), ("stopasgroup", "stop_group"), ("user", "user"),
            ("umask", "umask"),
            ("directory", "directory"), ("environment", "environment"), ("redirect_stderr", "logging"),
            ("stdout_logfile stdout_logfile_maxbytes stdout_logfile_backups", "logging"),
        ]
        let lacks: [(String, String)] = [
            ("process_name", "the path is the child's: the program's name, and with several instances a number"),
            ("killasgroup", "what is left of the group is always killed"),
            ("serverurl", "the variable SUPERVISOR_SERVER_URL isn't set"),
            (
                "stderr_logfile stderr_logfile_maxbytes stderr_logfile_backups",
                "both streams are in one file, and each line of it tells its stream"
            ),
            (
                "stdout_syslog stderr_syslog",
                "no syslog: with `to_daemon` in `logging` the lines go to the daemon's standard error, which the journal keeps"
            ),
            (
                "stdout_capture_maxbytes stderr_capture_maxbytes",
                "no capture between `<!--XSUPERVISOR:BEGIN-->` and `<!--XSUPERVISOR:END-->`"
            ),
            ("stdout_events_enabled stderr_events_enabled", "no events of output: follow `coordinatorctl logs -f`"),
        ]
        return [
            ForeignKeys("program", effects: programs, notes: lacks),
            ForeignKeys(
                "fcgi-program",
                effects: programs + [("socket", "sockets"), ("socket_mode", "sockets")],
                notes: lacks + [
                    ("socket_owner", "the socket belongs to the daemon's user; give others a `mode`"),
                    ("socket_backlog", "the length of the queue is the system's largest (net.core.somaxconn)"),
                ]
            ),
            ForeignKeys("group", effects: [("programs", "children"), ("priority", "after")], notes: []),
            ForeignKeys("include", effects: [("files", "children")], notes: []),
            ForeignKeys(
                "supervisord",
                effects: [("environment", "environment"), ("user", "user"), ("umask", "umask")],
                notes: [
                    ("directory", "set WorkingDirectory= of the daemon's unit, or start the daemon in that directory"),
                    ("minfds", "set LimitNOFILE= of the daemon's unit"), ("minprocs", "set LimitNPROC= of the daemon's unit"),
                    ("logfile logfile_maxbytes logfile_backups silent", "the daemon logs to its standard error, which the journal keeps"),
                    ("loglevel", "the daemon's option is --log-level"),
                    ("pidfile", "the service manager knows the daemon's process; `coordinatorctl status /` shows it"),
                    ("nodaemon", "the daemon always stays in the foreground"),
                    ("identifier", "`coordinatorctl` tells daemons apart by their runtime directories"),
                    ("childlogdir", "set `directory` of `logging`"), ("nocleanup", "logs are kept over restarts"),
                    ("strip_ansi", "output is kept as it is, and escaped on terminals"),
                ]
            ),
            ForeignKeys(
                "unix_http_server",
                effects: [],
                notes: [
                    ("file chmod chown", "the daemon's control socket takes its place; `operators` says who else may use it"),
                    ("username password", "the system's users and groups take the place of passwords: see `operators`"),
                ]
            ),
            ForeignKeys(
                "inet_http_server",
                effects: [],
                notes: [
                    ("port", "the daemon has no port: coordinator-console serves a page, and with --supervisord the XML-RPC interface"),
                    ("username password", "coordinator-console has tokens"),
                ]
            ),
            ForeignKeys(
                "eventlistener",
                effects: [],
                notes: [
                    (
                        "command events buffer_size result_handler process_name numprocs numprocs_start priority autostart autorestart exitcodes startsecs startretries stopsignal stopwaitsecs stopasgroup killasgroup user umask directory environment redirect_stderr serverurl stdout_* stderr_*",
                        "listeners aren't carried over: follow `coordinatorctl events -f --json`; one that ends the daemon with a program is `on_failure: end_daemon` of that program"
                    )
                ]
            ),
            ForeignKeys(
                "supervisorctl",
                effects: [],
                notes: [("serverurl username password prompt history_file", "`coordinatorctl` finds the daemon by --runtime-dir")]
            ),
            ForeignKeys(
                "rpcinterface",
                effects: [],
                notes: [("supervisor.rpcinterface_factory *", "coordinator-console with --supervisord answers supervisord's clients")]
            ),
        ]
    }()
}
