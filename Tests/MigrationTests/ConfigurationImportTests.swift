import DaemonConfiguration
import Migration
import Processes
import Supervision
import TestSupport
import Testing

@Suite("The import of other supervisors' files")
struct ConfigurationImportTests {
    /// Imports a text, and reads the result as the daemon does.
    private static func imported(
        _ text: String,
        _ name: String,
        files: [String: String] = [:]
    ) throws -> (configuration: DaemonConfiguration, notes: [String], directory: String) {
        let directory = try TemporaryDirectory()
        try Files.write(text, to: directory.file(name))
        for (file, content) in files { try Files.write(content, to: directory.file(file)) }
        let result = try ConfigurationImport(path: directory.file(name), environment: ["HOME": "/root"])
        let notes = result.notes.map { $0.description.replacing("\(directory.path)/", with: "") }
        return (try DaemonConfiguration.parse(text: result.yaml, file: "imported"), notes, directory.path)
    }

    private static func program(_ child: ConfiguredChild?) throws -> ConfiguredProgram {
        guard case .program(let program)? = child?.content else { throw ProgramMissing() }
        return program
    }

    struct ProgramMissing: Error {}

    @Test("A supervisord.conf keeps programs, groups, their order, and what they need to start and stop")
    func supervisord() throws {
        let text = """
            [supervisord]
            nodaemon=true
            environment=ZONE="eu",EXTRA='a, b'
            [unix_http_server]
            file=/tmp/supervisor.sock ; a comment
            [program:late]
            command=/bin/cat -u "two words" %(ENV_HOME)s 100%% %(here)s
            priority=1000
            autostart=false
            autorestart=true
            stopwaitsecs=20
            stopsignal=QUIT
            startretries=2
            environment=A="1",B=two
            directory=/srv
            umask=027
            user=daemon
            stdout_logfile=/var/log/late.log
            stdout_logfile_maxbytes=5MB
            stdout_logfile_backups=3
            redirect_stderr=true
            [program:many]
            command=/bin/worker --port=90%(process_num)02d
            numprocs=2
            process_name=%(program_name)s_%(process_num)d
            [program:equal]
            command=/bin/cat
            numprocs=3
            exitcodes=0,2
            stdout_capture_maxbytes=1MB
            [group:web]
            programs=inner
            [program:inner]
            command=/bin/cat
            startsecs=0
            autorestart=false
            [eventlistener:mail]
            command=crashmail
            [include]
            files = conf.d/*.conf missing/*.conf more.conf
            """
        let (configuration, notes, directory) = try Self.imported(
            text,
            "supervisord.conf",
            files: ["more.conf": "[program:first]\ncommand=true\npriority=1\n"]
        )
        let numbered = KnownKeys.numbersInstances ? ["many"] : ["many-0", "many-1"]
        #expect(configuration.children.map(\.key) == ["first"] + numbered + ["equal", "web", "late"])
        let late = try #require(configuration.children.last)
        let program = try Self.program(late)
        // The daemon's HOME, and not the one of this import.
        #expect(program.command == ["sh", "-c", "set -f; exec /bin/cat -u \"two words\" ${HOME?} \"100%\" \(directory)"])
        #expect(program.environment == ["A": "1", "B": "two", "ZONE": "eu", "EXTRA": "a, b"])
        #expect(program.directory == "/srv")
        #expect(program.settings.stopSignal == .quit)
        #expect(program.process.attributes.user == "daemon" && program.process.attributes.umask == 0o027)
        #expect(late.restart == .permanent && late.shutdown == .timeout(.seconds(20)) && !late.autostart)
        #expect(late.restartLimits?.intensity == .restarts(2) && late.restartLimits?.period == .seconds(94))
        #expect(late.logging?.destination == .file("/var/log/late.log"))
        let port = "\"--port=90$(printf %02d $((COORDINATOR_INSTANCE - 1)))\""
        let many = KnownKeys.numbersInstances ? ["sh", "-c", "exec /bin/worker \(port)"] : ["/bin/worker", "--port=9001"]
        #expect(try Self.program(configuration.children[numbered.count]).command == many)
        let equal = configuration.children[numbered.count + 1]
        #expect(equal.instances == 3 && equal.restart == .transient)
        #expect(try Self.program(equal).settings.exitCodes == [2])
        #expect(try Self.program(equal).settings.startSeconds == .seconds(1))
        guard case .group(let group) = configuration.children[numbered.count + 2].content else { throw ProgramMissing() }
        #expect(group.children.map(\.key) == ["inner"] && group.children[0].restart == .temporary)
        for note in [
            "supervisord.conf:5: [unix_http_server] file: the daemon's control socket",
            "supervisord.conf:30: [program:equal] stdout_capture_maxbytes: no capture",
            "supervisord.conf:31: [group:web]: its programs have the paths /web/NAME",
            "supervisord.conf:38: [eventlistener:mail] command: listeners aren't carried over",
            "supervisord.conf:40: [include]: no file matches conf.d/*.conf",
        ] { #expect(notes.contains { $0.hasPrefix(note) }, "\(note)\n\(notes.joined(separator: "\n"))") }
    }

    @Test("A circus.ini keeps watchers, sockets, limits and variables")
    func circus() throws {
        let text = """
            [circus]
            check_delay = 5
            [watcher:web]
            cmd = /bin/web --fd $(circus.sockets.site) --home $(circus.env.zone)
            args = -v 'a b'
            numprocesses = 4
            use_sockets = True
            copy_env = True
            working_dir = /srv
            uid = www-data
            stop_signal = INT
            graceful_timeout = 2.5
            max_retry = -1
            max_age = 3600
            rlimit_nofile = 500
            rlimit_core = -1
            stdout_stream.class = FileStream
            stdout_stream.filename = /var/log/web.log
            stdout_stream.max_bytes = 1048576
            stdout_stream.backup_count = 2
            hooks.before_start = a.b
            warmup_delay = 0
            [watcher:first]
            cmd = echo $A && sleep 1
            shell = yes
            priority = 5
            respawn = false
            [socket:site]
            host = 0.0.0.0
            port = 8080
            [socket:admin]
            path = /run/admin.sock
            [env:web]
            zone = eu
            [plugin:statsd]
            use = circus.plugins.statsd.StatsdEmitter
            """
        let (configuration, notes, _) = try Self.imported(text, "circus.ini")
        #expect(configuration.children.map(\.key) == ["first", "web"])
        let first = try Self.program(configuration.children[0])
        #expect(first.command == ["sh", "-c", "echo $A && sleep 1"])
        #expect(!first.process.inheritsEnvironment && configuration.children[0].restart == .temporary)
        let web = configuration.children[1]
        let program = try Self.program(web)
        #expect(program.command == ["/bin/web", "--fd", "3", "--home", "eu", "-v", "a b"])
        #expect(program.environment == ["zone": "eu"] && program.process.inheritsEnvironment)
        #expect(program.settings.sockets.map(\.address) == [.tcp(host: "0.0.0.0", port: 8_080), .path("/run/admin.sock", mode: 0o600)])
        #expect(program.settings.stopSignal == .interrupt && program.process.recycling?.age == .seconds(3_600))
        #expect(program.process.attributes.limits[.openFiles]?.soft == 500)
        #expect(web.instances == 4 && web.shutdown == .timeout(.milliseconds(2_500)) && web.restartLimits?.intensity == .unlimited)
        #expect(notes.contains { $0.hasPrefix("circus.ini:21: [watcher:web] hooks.before_start: functions") }, "\(notes)")
        #expect(notes.contains { $0.hasPrefix("circus.ini:36: [plugin:statsd] use: plugins") })
        #expect(!notes.contains { $0.contains("warmup_delay") })
    }

    @Test("A Procfile keeps commands, with a shell where one is needed, and foreman's ports")
    func procfile() throws {
        let text = "# processes\nweb: bundle exec puma -p $PORT\nworker:  python3 worker.py --queue high\n"
        let (configuration, notes, directory) = try Self.imported(text, "Procfile.dev", files: [".env": "A=1\n"])
        #expect(configuration.children.map(\.key) == ["web", "worker"])
        let (web, worker) = (try Self.program(configuration.children[0]), try Self.program(configuration.children[1]))
        #expect(web.command == ["sh", "-c", "bundle exec puma -p $PORT"] && web.environment == ["PORT": "5000"])
        #expect(worker.command == ["python3", "worker.py", "--queue", "high"] && worker.environment == ["PORT": "5100"])
        #expect(web.directory == directory && web.process.environmentFiles == ["\(directory)/.env"])
        #expect(notes.count == 2)
    }

    @Test("An ecosystem.json keeps applications, their interpreters and limits")
    func ecosystem() throws {
        let text = """
            {"apps": [
              {"name": "api", "script": "./server.js", "args": ["--port", 80], "node_args": "--max-old-space-size=200", "instances": 2, "exec_mode": "cluster",
               "env": {"NODE_ENV": "production", "N": 5}, "env_staging": {}, "max_memory_restart": "300M", "min_uptime": "10s", "max_restarts": 3,
               "kill_timeout": 3000, "out_file": "/var/log/api.log", "watch": true, "cwd": "app"},
              {"script": "job.py", "autorestart": false, "interpreter": "none", "watch": false}
            ]}
            """
        let (configuration, notes, directory) = try Self.imported(text, "ecosystem.json")
        #expect(configuration.children.map(\.key) == ["api", "job"])
        let api = configuration.children[0]
        let program = try Self.program(api)
        let words = ["node", "--max-old-space-size=200", "./server.js", "--port", "80"]
        let number = "export NODE_APP_INSTANCE=\"$((COORDINATOR_INSTANCE - 1))\"; exec "
        let numbered = ["sh", "-c", number + words.map { $0.contains("=") ? "\"\($0)\"" : $0 }.joined(separator: " ")]
        #expect(program.command == (KnownKeys.numbersInstances ? numbered : words))
        #expect(program.environment == ["NODE_ENV": "production", "N": "5"] && program.directory == "\(directory)/app")
        #expect(program.process.recycling?.memory == 300 << 20 && program.settings.startSeconds == .seconds(10))
        #expect(program.settings.stopSignal == .interrupt && api.instances == 2 && api.shutdown == .timeout(.seconds(3)))
        #expect(api.restartLimits?.intensity == .restarts(3))
        #expect(try Self.program(configuration.children[1]).command == ["job.py"] && configuration.children[1].restart == .temporary)
        #expect(notes.contains { $0.hasPrefix("ecosystem.json: api exec_mode: no cluster") }, "\(notes)")
        #expect(
            notes.contains { $0.hasPrefix("ecosystem.json: api watch: files aren't watched") }
                && !notes.contains { $0.contains("job watch") }
        )
    }

    @Test(
        "A file that can't be read is a problem with its line",
        arguments: [
            ("supervisord.conf", "[program:a]\ncommand\n", "supervisord.conf:2:1: `command` is neither a section nor `key = value`"),
            ("circus.ini", "[watcher:a\n", "circus.ini:1:1: a section's name isn't closed"),
            ("Procfile", "web bundle\n", "Procfile:1:1: `web bundle` isn't a process"), ("a.json", "{", "a.json: the file isn't JSON"),
            ("a.json", "5", "a.json: the file has no applications"),
            ("ecosystem.config.js", "module.exports = {}", "expected its value as JSON: `node -p"),
            ("supervisord.conf", "[program:a]\ncommand=true\n[group:g]\nprograms=b\n", "supervisord.conf:4:1: the group names `b`"),
            (
                "supervisord.conf", "\n[program:a]\ncommand=true\numask=9\n",
                "supervisord.conf:2:1: the daemon's file that comes of it has a problem: `umask`"
            ),
            ("a.service", "[Service]\nType=simple\n", "a.service: the unit has no `ExecStart`"),
            ("other", "a", "other: neither the file's name nor its content tells whose it is"),
        ]
    )
    func problems(name: String, text: String, problem: String) throws {
        let error = #expect(throws: ConfigurationError.self) { _ = try Self.imported(text, name) }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test("Whatever stands in a command comes out of the daemon's reader as it was")
    func texts() throws {
        for word in ["no", "5", "~", "a: b", "#c", "'", "\"\\", "ä…", "{x}", "- a", "\u{7F}", "\u{2028}", "*", "&a", "!t", "%", "", " "] {
            let quoted = word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("%", with: "%%")
            let (configuration, _, _) = try Self.imported("[program:a]\ncommand=/bin/cat \"\(quoted)\"\n", "supervisord.conf")
            #expect(try Self.program(configuration.children.first).command == ["/bin/cat", word])
        }
    }
}
