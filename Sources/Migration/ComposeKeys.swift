extension ForeignKeys {
    /// The keys of process-compose's files.
    ///
    /// https://f1bonacc1.github.io/process-compose/configuration/, and `schemas/process-compose-schema.json` of process-compose's sources
    static let processCompose: [ForeignKeys] = [
        ForeignKeys(
            "project",
            effects: [("processes", "children"), ("environment", "environment"), ("shell vars disable_env_expansion", "command")],
            notes: [
                ("version", "the daemon's file has no version"),
                ("log_location", "each child has a file of its own, in `directory` of `logging`"),
                ("log_level", "the daemon's option is --log-level"), ("log_length", "`coordinatorctl logs` reads the files"),
                ("log_configuration log_format", "`logging` says how lines are written"),
                ("is_strict", "unknown keys are always a problem"),
                ("is_tui_disabled", "`coordinatorctl top` shows what runs"), ("extends", "the other file isn't read: import it too"),
                ("env_cmds", "no command gives the value of a variable; write a file for `environment_files`"),
                ("name ordered_shutdown", "see `after` and `requires`"),
                ("file_names env_file_names", "not for files, by its own description"),
            ]
        ),
        ForeignKeys(
            "process",
            effects: [
                ("command entrypoint vars", "command"), ("working_dir", "directory"), ("environment", "environment"),
                ("log_location", "logging"),
                ("depends_on", "after and requires"), ("readiness_probe ready_log_line", "ready"), ("liveness_probe", "health"),
                ("replicas", "instances"),
                ("disabled", "autostart"), ("availability", "restart, and restart_limits"),
                ("log_configuration shutdown", "logging, and how it stops"), ("launch_timeout_seconds", "start_timeout"),
                ("is_elevated", "user"),
            ],
            notes: [
                ("name original_config replica_num replica_name executable args", "not for files, by its own description"),
                ("is_daemon", "a program that goes into the background isn't followed: let it stay in the foreground"),
                ("is_foreground is_tty", "programs have no terminal"), ("disable_ansi_colors", "output is kept as it is"),
                ("namespace", "a name for groups of processes alone: see `children`"), ("description", "write a comment"),
            ]
        ),
        ForeignKeys(
            "availability",
            effects: [("restart", "restart"), ("backoff_seconds max_restarts", "restart_limits"), ("exit_on_end", "on_exit")],
            notes: [("exit_on_skipped", "a child whose requirement fails waits for it")]
        ),
        ForeignKeys(
            "probe",
            effects: [
                ("exec http_get", "health, or ready"), ("period_seconds timeout_seconds", "health, or ready"),
                ("initial_delay_seconds failure_threshold", "health"),
            ],
            notes: [("success_threshold", "one success is enough")]
        ),
        ForeignKeys("exec", effects: [("command", "command"), ("working_dir", "command")], notes: []),
        ForeignKeys("http_get", effects: [("host path port num_port", "http")], notes: [("scheme", "probes speak http, without TLS")]),
        ForeignKeys(
            "shutdown",
            effects: [("command", "hooks"), ("timeout_seconds", "shutdown"), ("signal", "stop_signal"), ("parent_only", "stop_group")],
            notes: []
        ),
        ForeignKeys(
            "log_configuration",
            effects: [("rotation", "logging")],
            notes: [
                (
                    "fields_order disable_json timestamp_format no_color no_metadata add_timestamp",
                    "`format` of `logging` says how lines are written"
                ),
                ("flush_each_line", "each line is written when it's complete"),
            ]
        ),
        ForeignKeys(
            "rotation",
            effects: [("max_size_mb max_backups", "logging")],
            notes: [
                ("directory filename", "the file is that of `log_location`"), ("max_age_days", "former files are kept by their number"),
                ("compress", "former files aren't compressed"),
            ]
        ),
        ForeignKeys(
            "shell_config",
            effects: [("shell_command shell_argument", "command")],
            notes: [("elevated_shell_command elevated_shell_argument", "no shell raises rights; see `user`")]
        ),
        ForeignKeys("dependency", effects: [("condition", "after and requires")], notes: []),
    ]
}
