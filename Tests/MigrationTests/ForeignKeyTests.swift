import FoundationEssentials
import Glibc
import Migration
import TestSupport
import Testing
import WireProtocol

@Suite(
    "The keys of other supervisors' files",
    .enabled(
        if: getenv("COORDINATORS_TEST_PYTHON") != nil,
        "COORDINATORS_TEST_PYTHON names a Python that has the packages supervisor and circus"
    )
)
struct ForeignKeyTests {
    /// The supervisors that have keys.
    static let formats = ConfigurationImport.Format.allCases.filter { $0 != .procfile }

    @Test("Each key that a supervisor has is in the table", arguments: formats)
    func complete(format: ConfigurationImport.Format) async throws {
        let tables = ForeignKeys.tables(of: format)
        for (section, keys) in try await Self.original(format) {
            let table = try #require(tables.first { $0.section == section }, "no table for \(section)")
            let unknown = keys.filter { table.fate(of: $0) == .unknown }
            #expect(unknown == [], "keys of \(format)'s section \(section)")
        }
    }

    @Test("Each key has the effect that its table says, or a note", arguments: formats)
    func effects(format: ConfigurationImport.Format) async throws {
        for (section, keys) in try await Self.original(format) {
            let table = try #require(ForeignKeys.tables(of: format).first { $0.section == section })
            var formers: [String: ConfigurationImport] = [:]
            for key in keys {
                let context = Self.contexts[key] ?? ""
                let former = try formers[context] ?? Self.imported(format, section, nil, key)
                formers[context] = former
                let next = try Self.imported(format, section, key, key)
                let isNoted = next.notes.contains { note in
                    note.subject.split(whereSeparator: { " .".contains($0) }).contains { $0 == key } || note.subject.hasSuffix(key)
                        || key.hasSuffix("*") && note.subject.contains(key.dropLast())
                }
                switch table.fate(of: key) {
                case .effect: #expect(former.yaml != next.yaml || isNoted, "\(section) \(key): neither effect nor note\n\(next.yaml)")
                case .note: #expect(isNoted, "\(section) \(key): no note\n\(next.notes)")
                case .unknown: Issue.record("\(section) \(key) isn't in the table")
                }
            }
        }
    }

    // MARK: The originals

    /// The keys that the supervisor itself has, by section.
    private static func original(_ format: ConfigurationImport.Format) async throws -> [String: [String]] {
        let python = BuiltProgram(path: try #require(getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) }))
        let ended = try await python.run(["\(Files.packageRoot)/Tests/Originals/keys.py", format.rawValue])
        try #require(ended.exitCode == 0, "\(ended.errors)")
        return try JSONDecoder().decode([String: [String]].self, from: Data(ended.output.utf8))
    }

    // MARK: The files

    /// Values of keys that aren't the default; `x` for any other key.
    private static let samples: [ConfigurationImport.Format: [String: String]] = [
        .supervisord: [
            "command": "/bin/echo x", "numprocs": "3", "numprocs_start": "5", "priority": "5", "autostart": "false", "autorestart": "false",
            "exitcodes": "2",
            "startsecs": "7", "startretries": "9", "stopsignal": "QUIT", "stopwaitsecs": "33", "stopasgroup": "true",
            "killasgroup": "false", "user": "daemon",
            "umask": "077", "directory": "/tmp", "environment": "A=\"1\"", "redirect_stderr": "true", "stdout_logfile": "/tmp/x.log",
            "stdout_logfile_maxbytes": "3MB", "stdout_logfile_backups": "4", "socket": "tcp://127.0.0.1:9001", "socket_mode": "0660",
            "files": "more.ini",
            "programs": "a",
        ],
        .circus: [
            "cmd": "/bin/echo x", "args": "-x", "shell": "true", "executable": "/bin/tac", "numprocesses": "3", "working_dir": "/tmp",
            "uid": "daemon",
            "gid": "daemon", "copy_env": "true", "priority": "5", "autostart": "false", "respawn": "false", "graceful_timeout": "7",
            "stop_signal": "QUIT",
            "stop_children": "true", "max_retry": "3", "max_age": "60", "use_sockets": "true", "stdin_socket": "s", "rlimit_nofile": "100",
            "stdout_stream.class": "StdoutStream", "stdout_stream.filename": "/tmp/x.log", "stdout_stream.max_bytes": "1048576",
            "stdout_stream.backup_count": "3", "close_child_stdout": "true", "close_child_stderr": "true", "close_child_stdin": "false",
            "virtualenv": "/tmp/v",
            "include": "more.ini", "include_dir": ".", "umask": "077", "host": "127.0.0.2", "port": "8001", "path": "/tmp/s.sock",
            "stderr_stream.filename": "/tmp/e.log",
            "rlimit_nproc": "9", "rlimit_core": "9", "rlimit_as": "9", "rlimit_data": "9", "rlimit_stack": "9", "rlimit_fsize": "9",
            "rlimit_memlock": "9", "rlimit_cpu": "9",
        ],
        .pm2: [
            "script": "\"b.js\"", "exec": "\"b.js\"", "args": "[\"-x\"]", "exec_interpreter": "\"bun\"", "interpreter": "\"bun\"",
            "node_args": "\"-x\"",
            "interpreterArgs": "\"-x\"", "interpreter_args": "\"-x\"", "name": "\"other\"", "name_prefix": "\"p-\"", "cwd": "\"/tmp\"",
            "env": "{\"A\": 1}",
            "port": "8080", "filter_env": "true", "instances": "3", "instance_var": "\"N\"", "increment_var": "\"PORT\"",
            "exec_mode": "\"cluster\"",
            "autorestart": "false", "autostart": "false", "stop_exit_codes": "[3]", "min_uptime": "\"7s\"", "max_restarts": "3",
            "restart_delay": "500",
            "exp_backoff_restart_delay": "100", "max_memory_restart": "\"30M\"", "kill_timeout": "500", "treekill": "false",
            "uid": "\"daemon\"",
            "user": "\"daemon\"", "gid": "\"daemon\"", "disable_logs": "true", "namespace": "\"site\"",
            "cron_restart": "\"0 3 * * *\"", "cron": "\"0 3 * * *\"",
        ],
        .processCompose: [
            "processes": "{\"b\": {\"command\": \"cat\"}}", "environment": "[\"A=1\"]",
            "shell": "{\"shell_command\": \"zsh\", \"shell_argument\": \"-c\"}",
            "vars": "{\"V\": \"1\"}", "disable_env_expansion": "true", "command": "\"echo\"", "entrypoint": "[\"echo\"]",
            "working_dir": "\"/tmp\"",
            "log_location": "\"/tmp/x.log\"", "depends_on": "{\"b\": {\"condition\": \"process_started\"}}",
            "readiness_probe": "{\"exec\": {\"command\": \"true\"}}",
            "ready_log_line": "\"up\"", "liveness_probe": "{\"exec\": {\"command\": \"true\"}}", "replicas": "3", "disabled": "true",
            "is_elevated": "true",
            "launch_timeout_seconds": "7", "restart": "\"always\"", "backoff_seconds": "7", "max_restarts": "7", "exit_on_end": "true",
            "exit_on_skipped": "true",
            "exec": "{\"command\": \"false\"}", "http_get": "{\"port\": \"80\"}", "period_seconds": "7", "timeout_seconds": "7",
            "initial_delay_seconds": "7",
            "failure_threshold": "7", "host": "\"10.0.0.1\"", "path": "\"/x\"", "port": "\"81\"", "num_port": "82", "signal": "2",
            "parent_only": "true",
            "rotation": "{\"max_size_mb\": 3}", "max_size_mb": "3", "max_backups": "3", "condition": "\"process_healthy\"",
            "shutdown": "{\"timeout_seconds\": 3}",
            "availability": "{\"restart\": \"always\"}", "log_configuration": "{\"rotation\": {\"max_backups\": 3}}",
        ],
        .systemd: [
            "After": "b.service", "Before": "b.service", "Wants": "b.service", "Requires": "b.service", "BindsTo": "b.service",
            "Requisite": "b.service",
            "StartLimitIntervalSec": "100", "StartLimitInterval": "100", "StartLimitBurst": "7", "Type": "notify", "ExecStart": "/bin/echo",
            "ExecStartPre": "/bin/true",
            "ExecStop": "/bin/true", "ExecStopPost": "/bin/true", "ExecReload": "/bin/kill -HUP $MAINPID", "Restart": "always",
            "RestartSec": "7",
            "TimeoutSec": "7", "TimeoutStopSec": "7", "TimeoutStartSec": "7", "RuntimeMaxSec": "60", "WatchdogSec": "7",
            "SuccessExitStatus": "3",
            "RestartPreventExitStatus": "3", "KillMode": "mixed", "KillSignal": "SIGQUIT", "User": "daemon", "Group": "daemon",
            "UMask": "0077", "Nice": "5",
            "WorkingDirectory": "/tmp", "Environment": "A=1", "EnvironmentFile": "-/tmp/none", "StandardInput": "tty",
            "StandardOutput": "file:/tmp/x.log",
            "StandardError": "inherit", "OOMScoreAdjust": "100", "MemoryMax": "64M", "MemoryLimit": "64M", "CPUQuota": "50%",
            "TasksMax": "10",
            "AmbientCapabilities": "CAP_NET_BIND_SERVICE", "OnCalendar": "daily", "Persistent": "true", "Unit": "b.service",
            "ListenStream": "127.0.0.1:81", "SocketMode": "0660", "Service": "b.service", "Accept": "yes", "Sockets": "other.socket",
            "LimitCPU": "10", "LimitFSIZE": "1M", "LimitDATA": "1M", "LimitSTACK": "1M", "LimitCORE": "0", "LimitNOFILE": "64:128",
            "LimitAS": "infinity",
            "LimitNPROC": "64", "LimitMEMLOCK": "64K",
        ],
    ]

    /// What else a file needs for a key to mean something.
    private static let contexts: [String: String] = [
        "numprocs_start": "numprocs=2\ncommand=/bin/cat %(process_num)d\n", "instance_var": "\"instances\": 2",
        "increment_var": "\"instances\": 2, \"env\": {\"PORT\": 1}", "Persistent": "OnCalendar=daily\n",
        "FileDescriptorName": "ListenStream=/run/a.sock\n", "SocketMode": "ListenStream=/run/a.sock\n",
        "Service": "ListenStream=/run/a.sock\n",
        "stdout_stream.max_bytes": "stdout_stream.filename = /tmp/y.log\n",
        "stdout_stream.backup_count": "stdout_stream.filename = /tmp/y.log\n",
    ]

    /// Imports a file with a key, or without it.
    private static func imported(
        _ format: ConfigurationImport.Format,
        _ section: String,
        _ key: String?,
        _ context: String
    ) throws -> ConfigurationImport {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let sample = key.map { Self.samples[format]?[$0] ?? (format == .pm2 || format == .processCompose ? "\"x\"" : "x") } ?? ""
        let context = contexts[context] ?? ""
        var (name, text) = ("file", "")
        switch format {
        case .supervisord:
            let title =
                ["program", "fcgi-program", "eventlistener", "group"].contains(section)
                ? "\(section):\(section == "group" ? "g" : "a")" : section
            let command = section == "fcgi-program" ? "command=/bin/cat\nsocket=unix:///tmp/a.sock\n" : "command=/bin/cat\n"
            text = "[program:z]\ncommand=/bin/cat\n"
            if !title.hasSuffix(":a") || section == "eventlistener" { text += "[program:a]\ncommand=/bin/cat\n" }
            text +=
                "[\(title)]\n\(title.hasSuffix(":a") ? command : "")\(section == "group" && key != "programs" ? "programs=a\n" : "")\(context)"
            if section == "group", key == nil, context.isEmpty { text = text.replacing("programs=a\n", with: "programs=z\n") }
            if let key { text += "\(key)=\(sample)\n" }
            try Files.write("[program:more]\ncommand=/bin/cat\n", to: directory.file("more.ini"))
        case .circus:
            let title = section == "circus" ? section : "\(section):\(section == "socket" ? "s" : "a")"
            text =
                "[watcher:z]\ncmd = /bin/cat\nuse_sockets = true\n[watcher:a]\ncmd = /bin/cat\n[socket:s]\nport = 8000\n[\(title)]\n\(context)"
            if let key { text += "\(key) = \(sample)\n" }
            if key == "umask", section == "socket" { text += "path = /tmp/s.sock\n" }
            if key == nil, section == "socket" { text = text.replacing("port = 8000\n", with: "host = 127.0.0.1\nport = 8000\n") }
            try Files.write("[watcher:more]\ncmd = /bin/cat\n", to: directory.file("more.ini"))
        case .pm2:
            let own = key.map { [$0 == "env_*" ? "\"env_staging\": {}" : "\"\($0)\": \(sample)"] } ?? []
            let base = key == "script" || key == "exec" ? [] : ["\"script\": \"a.js\""]
            let named = key == "name" ? [] : ["\"name\": \"a\""]
            text = "{\"apps\": [{\((named + base + (context.isEmpty ? [] : [context]) + own).joined(separator: ", "))}]}"
        case .processCompose:
            let inner = key.map { "\"\($0)\": \(sample)" } ?? ""
            let paths = [
                "project": "", "process": "", "availability": "availability", "exec": "liveness_probe.exec",
                "http_get": "liveness_probe.http_get", "probe": "liveness_probe",
                "shutdown": "shutdown", "log_configuration": "log_configuration", "rotation": "log_configuration.rotation",
                "dependency": "depends_on.b",
                "shell_config": "",
            ]
            var value = inner
            if section == "probe", !["exec", "http_get"].contains(key) {
                value = ["\"exec\": {\"command\": \"true\"}", inner].filter { !$0.isEmpty }.joined(separator: ", ")
            }
            if section == "exec", key == "working_dir" { value += ", \"command\": \"true\"" }
            if section == "http_get", key == nil { value = "\"port\": \"80\"" }
            for part in (paths[section] ?? "").split(separator: ".").reversed() { value = "\"\(part)\": {\(value)}" }
            let process = section == "project" || section == "shell_config" ? "" : value
            let command = key == "command" && section == "process" || key == "entrypoint" ? "" : "\"command\": \"cat {{.V}}\""
            let members = [command, process].filter { !$0.isEmpty }.joined(separator: ", ")
            let top = section == "project" ? inner : section == "shell_config" && key != nil ? "\"shell\": {\(inner)}" : ""
            let processes = key == "processes" ? "" : "\"processes\": {\"a\": {\(members)}, \"b\": {\"command\": \"cat\"}}"
            text = "{\([processes, top].filter { !$0.isEmpty }.joined(separator: ", "))}"
        case .systemd:
            try Files.write("[Service]\nExecStart=/bin/cat\n", to: directory.file("b.service"))
            if section == "Timer" || section == "Socket" {
                name = "a.\(section.lowercased())"
                try Files.write("[Service]\nExecStart=/bin/cat\n", to: directory.file("a.service"))
                text = "[\(section)]\n\(context)\(key.map { "\($0)=\(sample)\n" } ?? "")"
            } else {
                name = "a.service"
                text =
                    "[Service]\n\(key == "ExecStart" ? "" : "ExecStart=/bin/cat\n")[\(section)]\n\(key.map { "\($0)=\(sample)\n" } ?? "")"
            }
        case .procfile: break
        }
        try Files.write(text, to: directory.file(name))
        let result = try ConfigurationImport(path: directory.file(name), format: format, environment: ["PATH": "/bin"])
        // The directory has another name each time.
        var plain = result
        plain.yaml = result.yaml.replacing(directory.path, with: "DIRECTORY")
        return plain
    }
}
