"""Prints, as JSON, the keys that a supervisor's own file may have: {section: [key, ...]}.

Usage: keys.py supervisord|circus|systemd|pm2|process-compose

Of the ones that are installed here the keys are read out of their own sources, or asked for; of the others they are listed, with the place of the list.
"""
import ast
import inspect
import json
import pathlib
import subprocess
import sys

# lib/API/schema.json of pm2's sources: the names, and their aliases; `env_*` stands for its pattern.
PM2 = """
script exec name name_prefix filter_env namespace install_url cwd args exec_interpreter interpreter node_args interpreterArgs interpreter_args out_file out
output out_log error_file error err err_file err_log log_file log disable_logs log_type log_date_format time env env_* max_memory_restart pid_file pid
restart_delay exp_backoff_restart_delay source_map_support disable_source_map_support wait_ready instances kill_timeout shutdown_with_message listen_timeout
cron_restart cron merge_logs combine_logs vizion autorestart watch_delay watch ignore_watch watch_options min_uptime max_restarts execute_command exec_mode force
append_env_to_name post_update trace disable_trace v8 event_loop_inspector deep_monitoring increment_var instance_var pmx automation treekill port username uid
user gid windowsHide kill_retry_time write io autostart stop_exit_codes
"""

# schemas/process-compose-schema.json of process-compose's sources, by its definitions.
PROCESS_COMPOSE = {
    "project": """version log_location log_level log_length log_configuration log_format processes environment shell is_strict vars disable_env_expansion
        is_tui_disabled extends env_cmds file_names env_file_names""",
    "process": """name disabled is_daemon command entrypoint log_location log_configuration environment availability depends_on liveness_probe readiness_probe
        ready_log_line shutdown disable_ansi_colors working_dir namespace replicas description vars is_foreground is_tty is_elevated launch_timeout_seconds
        original_config replica_num replica_name executable args""",
    "availability": "restart backoff_seconds max_restarts exit_on_end exit_on_skipped",
    "probe": "exec http_get initial_delay_seconds period_seconds timeout_seconds success_threshold failure_threshold",
    "exec": "command working_dir",
    "http_get": "host path scheme port num_port",
    "shutdown": "command timeout_seconds signal parent_only",
    "log_configuration": "rotation fields_order disable_json timestamp_format no_color no_metadata add_timestamp flush_each_line",
    "rotation": "directory filename max_size_mb max_backups max_age_days compress",
    "shell_config": "shell_command shell_argument elevated_shell_command elevated_shell_argument",
    "dependency": "condition",
}


def texts(node):
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def asked(function, names=("get", "saneget", "getdefault", "dget", "has_option")):
    """The keys for which a function asks: the first text of each call, after the one that names a section."""
    keys = set()
    for call in ast.walk(function):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        values = [a.value for a in call.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if name in names and values:
            keys.add(values[-1] if len(values) == 2 and values[0] in ("include", "circus") else values[0])
    return keys - {"expansions"}


def supervisord():
    from supervisor import options

    tree = ast.parse(inspect.getsource(options))
    functions = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    daemon, control = functions["read_config"]
    program = asked(functions["_processes_from_section"][0])
    program |= {f"{stream}_{key.removeprefix('%s_')}" for stream in ("stdout", "stderr") for key in texts(functions["_processes_from_section"][0]) if key.startswith("%s_")}
    groups = asked(functions["process_groups_from_parser"][0])
    servers = asked(functions["server_configs_from_parser"][0]) | asked(functions["_parse_username_and_password"][0])
    sockets = {key for key in groups if key.startswith("socket")}
    listener = {"buffer_size", "result_handler", "events"} & groups
    return {
        "supervisord": asked(daemon) - {"files"},
        "include": {"files"},
        "program": program,
        "fcgi-program": program | sockets,
        "eventlistener": program | listener,
        "group": groups - sockets - listener - {"user", "redirect_stderr"},
        "unix_http_server": {"username", "password"} | servers - {"port"},
        "inet_http_server": {"username", "password"} | servers - {"file", "chown", "chmod"},
        "supervisorctl": {key for key in asked(control) if key != "supervisorctl"},
    }


def circus():
    import circus.config
    import circus.sockets
    import circus.stream
    import circus.watcher

    tree = ast.parse(inspect.getsource(circus.config.get_config))
    watcher = set(circus.config.watcher_defaults()) | set(inspect.signature(circus.watcher.Watcher.__init__).parameters)
    for compare in ast.walk(tree):
        if isinstance(compare, ast.Compare) and getattr(compare.left, "id", "") == "opt":
            watcher |= {key for comparator in compare.comparators for key in texts(comparator)}
    # Not keys: the object itself, what the arbiter gives it, and what have keys of their own.
    watcher -= {"self", "options", "loop", "sockets", "stdout_stream_conf", "stderr_stream_conf", "name", "env", "rlimits", "hooks", "stdout_stream", "stderr_stream"}
    streams = {
        parameter
        for name in ("FileStream", "TimedRotatingFileStream", "WatchedFileStream", "StdoutStream", "FancyStdoutStream")
        for parameter in inspect.signature(getattr(circus.stream, name).__init__).parameters
    } - {"self", "kwargs", "args"}
    watcher |= {f"{stream}.{key}" for stream in ("stdout_stream", "stderr_stream") for key in streams | {"class"}}
    watcher |= {f"rlimit_{name}" for name in ("nofile", "nproc", "core", "as", "data", "stack", "fsize", "memlock", "cpu", "rss", "sigpending")}
    watcher |= {f"hooks.{name}" for name in ("before_start", "after_start", "before_spawn", "after_spawn", "before_stop", "after_stop", "before_signal", "after_signal", "before_reap", "after_reap", "extended_stats")}
    sections = {"circus": set(), "socket": set(inspect.signature(circus.sockets.CircusSocket.__init__).parameters) - {"self"}}
    for function in (circus.config.get_config, circus.config.read_config):
        source = ast.parse(inspect.getsource(function))
        for call in ast.walk(source):
            if isinstance(call, ast.Call) and len(call.args) > 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == "circus":
                sections["circus"].add(call.args[1].value)
    sections["socket"] |= asked(ast.parse("class C:\n" + inspect.getsource(circus.sockets.CircusSocket.load_from_config)))
    return {"watcher": watcher} | sections


def systemd():
    program = next(path for path in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd") if pathlib.Path(path).exists())
    output = subprocess.run([program, "--dump-configuration-items"], capture_output=True, text=True, check=True).stdout
    sections, section = {}, None
    for line in output.splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), set())
        elif "=" in line and section is not None:
            section.add(line.split("=")[0])
    # A socket's unit has most keys of services, for commands of its own.
    sections["Socket"] -= sections["Service"] - {"Service"}
    return {name: sections[name] for name in ("Unit", "Service", "Install", "Timer", "Socket")}


def main():
    sections = {
        "supervisord": supervisord, "circus": circus, "systemd": systemd, "pm2": lambda: {"app": PM2.split()},
        "process-compose": lambda: {name: keys.split() for name, keys in PROCESS_COMPOSE.items()},
    }[sys.argv[1]]()
    print(json.dumps({name: sorted(keys) for name, keys in sections.items()}))


main()
