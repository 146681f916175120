extension ForeignKeys {
    /// The keys of pm2's files.
    ///
    /// https://pm2.keymetrics.io/docs/usage/application-declaration/, and `lib/API/schema.json` of pm2's sources
    static let pm2: [ForeignKeys] = [
        ForeignKeys(
            "app",
            effects: [
                ("script exec args exec_interpreter interpreter node_args interpreterArgs interpreter_args", "command"),
                ("name name_prefix", "key"),
                ("cwd", "directory"), ("env port", "environment"), ("filter_env", "inherit_environment"), ("instances", "instances"),
                ("instance_var increment_var", "environment"), ("exec_mode", "instances"), ("autorestart", "restart"),
                ("autostart", "autostart"),
                ("stop_exit_codes", "exit_codes"), ("min_uptime", "start_seconds"),
                ("max_restarts restart_delay exp_backoff_restart_delay", "restart_limits"),
                ("max_memory_restart", "recycle"), ("kill_timeout", "shutdown"), ("treekill", "stop_group"), ("uid user", "user"),
                ("gid", "group"),
                ("out_file out output out_log error_file error err err_file err_log log_file log disable_logs", "logging"),
                ("namespace", "children"), ("cron_restart cron", "schedule"),
            ],
            notes: [
                ("env_*", "another environment, which isn't carried over"),
                ("watch watch_delay ignore_watch watch_options", "files aren't watched; `coordinatorctl restart` after a change"),
                ("wait_ready listen_timeout", "process.send('ready') isn't heard; send READY=1 by sd_notify(3) and set `ready: notify`"),
                ("shutdown_with_message", "the program is asked by a signal"), ("kill_retry_time", "nothing is asked twice"),
                ("log_type log_date_format time", "`format` of `logging` is `lines`, which have their time, or `json`"),
                ("merge_logs combine_logs", "each instance has a file of its own"),
                ("pid_file pid", "`coordinatorctl ps --json` shows the processes"),
                ("source_map_support disable_source_map_support", "write it into `command`"),
                ("append_env_to_name", "there is one environment"), ("username", "set by pm2 itself"),
                ("install_url post_update vizion", "the daemon deploys nothing"),
                ("execute_command write windowsHide force", "an option of pm2's command line"),
                (
                    "trace disable_trace v8 event_loop_inspector deep_monitoring pmx automation io",
                    "nothing is loaded into the program to watch it"
                ),
            ]
        )
    ]
}
