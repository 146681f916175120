import DaemonConfiguration
import Migration
import Processes
import Supervision
import TestSupport
import Testing

@Suite("What an import must not lose")
struct ImportLossTests {
    /// Imports one of several files of a directory.
    private static func imported(
        _ files: [String: String],
        _ name: String,
        _ environment: [String: String] = [:]
    ) throws -> (children: [ConfiguredChild], yaml: String, notes: [String], directory: String) {
        let directory = try TemporaryDirectory()
        for (file, content) in files { try Files.write(content, to: directory.file(file)) }
        let result = try ConfigurationImport(path: directory.file(name), environment: environment)
        let notes = result.notes.map { $0.description.replacing("\(directory.path)/", with: "") }
        return (try DaemonConfiguration.parse(text: result.yaml, file: "imported").children, result.yaml, notes, directory.path)
    }

    private static func program(_ child: ConfiguredChild?) throws -> ConfiguredProgram {
        guard case .program(let program)? = child?.content else { throw ProgramMissing() }
        return program
    }

    struct ProgramMissing: Error {}

    @Test("A variable of the importing shell isn't frozen into the file; a number that comes of one is, and is noted")
    func lateVariables() throws {
        let text = """
            [program:api]
            command=api --key %(ENV_KEY)s --name "%(ENV_NAME)s"
            environment=DB_PASSWORD="%(ENV_DB_PASSWORD)s",PATH="/opt/bin:%(ENV_PATH)s",FIXED="%(ENV_OWN)s"
            numprocs=%(ENV_COUNT)s
            [supervisord]
            environment=OWN="own"
            """
        let (children, yaml, notes, _) = try Self.imported(
            ["supervisord.conf": text],
            "supervisord.conf",
            ["KEY": "secret", "NAME": "secret", "DB_PASSWORD": "secret", "PATH": "/secret", "COUNT": "4"]
        )
        #expect(!yaml.contains("secret"))
        let program = try Self.program(children.first)
        #expect(program.command == ["sh", "-c", "set -f; export PATH=\"/opt/bin:${PATH?}\"; exec api --key ${KEY?} --name \"${NAME?}\""])
        #expect(program.environment == ["FIXED": "own", "OWN": "own"])
        #expect(children.first?.instances == 4)
        #expect(
            notes.contains { $0.hasPrefix("supervisord.conf:4: [program:api] numprocs: the variable COUNT is 4 at this import") },
            "\(notes)"
        )
    }

    @Test("What a file includes is read, from its own directory and with its own variables")
    func includes() throws {
        let supervisord = try Self.imported(
            ["supervisord.conf": "[include]\nfiles = %(ENV_CONF)s.ini\n", "more.ini": "[program:more]\ncommand=cat %(here)s/x\n"],
            "supervisord.conf",
            ["CONF": "more"]
        )
        #expect(try Self.program(supervisord.children.first).command == ["cat", "\(supervisord.directory)/x"])
        let circus = try Self.imported(
            [
                "circus.ini": "[circus]\ninclude = more.ini\n[env:*]\nhttp_proxy = p\nMyVar = m\n",
                "more.ini": "[watcher:more]\ncmd = cat\n",
            ],
            "circus.ini"
        )
        #expect(try Self.program(circus.children.first).environment == ["http_proxy": "p", "MyVar": "m"])
    }

    @Test("Programs that can't have the same path both stay, and an order that the file gives becomes one of dependencies")
    func namesAndOrder() throws {
        let text = "[program:a/b]\ncommand=cat\n[program:a-b]\ncommand=cat\npriority=1\n[program:c]\ncommand=cat\nautorestart=true\n"
        let (children, _, notes, _) = try Self.imported(["supervisord.conf": text], "supervisord.conf")
        #expect(children.map(\.key) == ["a-b-2", "a-b", "c"] && children.map(\.after) == [[], ["a-b-2"], ["a-b-2"]])
        #expect(notes.contains("supervisord.conf:3: a-b: another child has this name; this one is called a-b-2"), "\(notes)")
    }

    @Test("Signals may be numbers, sizes small, and a FastCGI program finds its socket as standard input")
    func values() throws {
        let text = """
            [program:a]
            command=cat
            stopsignal=2
            stdout_logfile=/tmp/a.log
            stdout_logfile_maxbytes=5KB
            [program:b]
            command=cat
            stdout_logfile=/tmp/b.log
            [fcgi-program:php]
            command=php-cgi
            socket=unix:///run/php.sock
            socket_mode=0660
            """
        let (children, _, notes, _) = try Self.imported(["supervisord.conf": text], "supervisord.conf")
        #expect(try Self.program(children.first).settings.stopSignal == .interrupt && children[0].logging?.maximumSize == 16 << 10)
        #expect(children[1].logging?.maximumSize == 50 << 20 && children[1].logging?.keep == 10)
        let php = try Self.program(children.last)
        #expect(
            php.command == ["sh", "-c", "exec php-cgi 0<&3"] && php.settings.sockets.map(\.address) == [.path("/run/php.sock", mode: 0o660)]
        )
        #expect(notes.contains { $0.contains("maxbytes: files are rotated at 16 KiB at least") })
    }

    @Test("A Procfile's ports begin at the PORT of .env")
    func ports() throws {
        let (children, yaml, _, _) = try Self.imported(
            ["Procfile": "web: exec a -p 1\nworker: cd b\n", ".env": "PORT=3000\nSECRET=x\n"],
            "Procfile"
        )
        #expect(try children.map { try Self.program($0).environment["PORT"] } == ["3000", "3100"] && !yaml.contains("SECRET"))
        #expect(try children.map { try Self.program($0).command } == [["a", "-p", "1"], ["sh", "-c", "cd b"]])
    }

    @Test("pm2's paths begin at the application's directory, and scripts have their interpreters")
    func pm2() throws {
        let text = """
            {"apps": [{"name": "web", "script": "bin/www", "cwd": "app", "out_file": "logs/out.log", "restart_delay": 3000, "namespace": "site"},
                      {"name": "own", "script": "run"}, {"name": "own", "script": "./gone"}]}
            """
        let (children, _, _, directory) = try Self.imported(["ecosystem.json": text, "run": "#!/bin/sh\n"], "ecosystem.json")
        #expect(children.map(\.key).sorted() == ["own", "own-2", "site"])
        guard case .group(let site)? = children.first(where: { $0.key == "site" })?.content else { throw ProgramMissing() }
        #expect(try Self.program(site.children.first).command == ["node", "bin/www"])
        #expect(site.children.first?.logging?.destination == .file("\(directory)/app/logs/out.log"))
        #expect(site.children.first?.restartLimits?.intensity == .restarts(16))
        let own = children.filter { $0.key.hasPrefix("own") }
        #expect(try own.map { try Self.program($0).command } == [["./run"], ["node", "./gone"]])
    }

    @Test("A unit of systemd comes with the services beside it on which it depends")
    func systemd() throws {
        let files = [
            "shop.service": """
            [Unit]
            Requires=db.service
            After=network.target \\
                  db.service
            [Service]
            Environment="A=1 2" B=3
            ExecStart=/usr/bin/shop --name ${A} $OPTS
            Restart=on-failure
            RestartSec=1min 5s
            LimitNOFILE=64:128
            TimeoutStopSec=2min
            """,
            "db.service": "[Service]\nType=notify\nExecStart=-/usr/bin/db\nWatchdogSec=3\nRestart=always\n",
        ]
        let (children, _, notes, _) = try Self.imported(files, "shop.service")
        let (shop, db) = (try #require(children.first { $0.key == "shop" }), try #require(children.first { $0.key == "db" }))
        let program = try Self.program(shop)
        #expect(
            program.command == ["sh", "-c", "set -f; exec /usr/bin/shop --name \"${A-}\" ${OPTS-}"]
                && program.environment == ["A": "1 2", "B": "3"]
        )
        #expect(program.process.attributes.limits[.openFiles] == .init(soft: 64, hard: 128) && shop.shutdown == .timeout(.seconds(120)))
        #expect(shop.requires == ["db"] && shop.restartLimits?.intensity == .unlimited)
        #expect(try Self.program(db).settings.readiness == .notify && Self.program(db).settings.watchdog == .seconds(3))
        #expect(notes.contains { $0.hasPrefix("shop.service:3: [Unit] After: network.target isn't imported") }, "\(notes)")
    }

    @Test(
        "Times of a calendar are cron's where these can say them",
        arguments: [
            ("daily", "0 0 * * *"), ("Mon..Fri 8:30", "30 8 * * 1-5"), ("*-*-01 04:00:00", "0 4 1 * *"), ("*:0/15", "*/15 * * * *"),
            ("Sat,Sun *-12-* 1:2", "2 1 * 12 6,0"), ("Mon *-*-*/2 1:2", "2 1 */2 * 1"), ("Fri *-*-13 00:00", nil),
            ("2026-01-01 00:00", nil), ("*-*-* *:*:30", nil), ("nonsense", nil), ("Mon-Fri 8:00", "0 8 * * 1-5"),
            ("monday-WEDNESDAY,Friday 8:00", "0 8 * * 1-3,5"), ("Sat..Sun 8:00", "0 8 * * 6-7"), ("Mon 8:00", "0 8 * * 1"),
            // What systemd refuses: neither a whole name nor three letters, a range over a week's end, and more than one range.
            ("Mond 8:00", nil), ("Monx-Fri 8:00", nil), ("Sat..Mon 8:00", nil), ("Mon-Wed-Fri 8:00", nil), ("Mon.Fri 8:00", nil),
            ("semiannually", nil),
        ]
    )
    func calendar(time: String, cron: String?) { #expect(CalendarTime.cron(time) == cron) }

    private static let year = Duration.seconds(365 * 86_400)

    @Test(
        "A limit of time stays what it is: 0 and infinity are none",
        arguments: [
            ("notify", "", .seconds(90), .timeout(.seconds(90))), ("notify", "TimeoutSec=0", year, .infinity),
            ("notify", "TimeoutSec=infinity", year, .infinity), ("notify", "TimeoutSec=1us", .milliseconds(1), .timeout(.milliseconds(1))),
            ("notify", "TimeoutStartSec=0", year, .timeout(.seconds(90))), ("notify", "TimeoutSec=x", .seconds(90), .timeout(.seconds(90))),
            ("oneshot", "", nil, .timeout(.seconds(90))), ("oneshot", "TimeoutSec=0", nil, .infinity),
            ("oneshot", "TimeoutSec=infinity", nil, .infinity),
            ("oneshot", "TimeoutSec=2.3", .milliseconds(2_300), .timeout(.milliseconds(2_300))),
            ("simple", "TimeoutStopSec=0", nil, .infinity), ("simple", "TimeoutStopSec=1y", nil, .timeout(.seconds(31_557_600))),
        ] as [(String, String, Duration?, Shutdown)]
    )
    func limits(type: String, line: String, start: Duration?, stop: Shutdown) throws {
        let unit = "[Service]\nType=\(type)\nExecStart=/bin/cat\n\(line)\n"
        let (children, yaml, _, _) = try Self.imported(["a.service": unit], "a.service")
        let child = try #require(children.first)
        #expect(try Self.program(child).settings.startTimeout == start && child.shutdown == stop, "\(yaml)")
    }

    @Test("A variable that a file of a unit sets has the file's value, or a note says that it hasn't")
    func environmentFiles() throws {
        let directory = try TemporaryDirectory()
        try Files.write("# as there\nA=\"file\"\n", to: directory.file("variables"))
        let unit = """
            [Service]
            Environment=A=unit B=unit
            EnvironmentFile=\(directory.file("variables"))
            EnvironmentFile=-\(directory.file("none"))
            ExecStart=/bin/cat
            """
        let (children, _, notes, _) = try Self.imported(["a.service": unit], "a.service")
        let program = try Self.program(children.first)
        #expect(program.environment == ["B": "unit"])
        #expect(program.process.environmentFiles == [directory.file("variables"), "-\(directory.file("none"))"])
        #expect(notes.count { $0.contains("[Service] EnvironmentFile: the file can't be read now") } == 1, "\(notes)")
        #expect(notes.contains { $0.hasPrefix("a.service:4: [Service] EnvironmentFile") }, "\(notes)")
    }

    @Test("A command for a unit's main process finds it, and one that only sends a signal is that signal")
    func mainProcess() throws {
        func settings(_ reload: String, _ stop: String) throws -> ProgramSettings {
            let unit = "[Service]\nExecStart=/bin/cat\nExecReload=\(reload)\nExecStop=\(stop)\n"
            return try Self.program(try Self.imported(["a.service": unit], "a.service").children.first).settings
        }
        let kills = [("/bin/kill -HUP $MAINPID", Signal.hangup), ("-/bin/kill -s USR1 ${MAINPID}", .user1), ("kill $MAINPID", .terminate)]
        for (kill, signal) in kills {
            #expect(try settings(kill, "/bin/true").hooks.reload == .signal(signal), "\(kill)")
            let stopped = try settings("/bin/true", kill)
            #expect(stopped.stopSignal == signal && stopped.hooks.stop == nil, "\(kill)")
        }
        let hooks = try settings("/usr/bin/control --pid $MAINPID reload", "/usr/bin/control --pid=${MAINPID} stop").hooks
        let reload = ["sh", "-c", "set -f; exec /usr/bin/control --pid ${COORDINATOR_PID-} reload"]
        #expect(hooks.reload == .command(ProgramHooks.Command(reload)))
        #expect(hooks.stop?.command == ["sh", "-c", "exec /usr/bin/control \"--pid=${COORDINATOR_PID-}\" stop"])
    }

    @Test(
        "What a unit can't have as it was is noted at its line",
        arguments: [
            ("a@.service", "ExecStart=/bin/w %i", "a template has no instance here: copy the unit to a@INSTANCE.service and import that"),
            ("a@.service", "ExecStart=/bin/w\nEnvironment=A=%I", "a template has no instance here"),
            ("a@b.service", "ExecStart=/bin/w %i", nil),
            // Where there is no template, systemd has nothing to put there either.
            ("a.service", "ExecStart=/bin/w %i", nil),
            ("a.service", "Type=oneshot\nExecStart=/bin/w\nExecStop=/bin/x", "a oneshot that has completed isn't stopped"),
            ("a.service", "Type=oneshot\nExecStart=/bin/w\nExecStop=/bin/kill $MAINPID", "a oneshot that has completed isn't stopped"),
            ("a.service", "Type=simple\nExecStart=/bin/w\nExecStop=/bin/x", nil),
            ("a.service", "Type=oneshot\nExecStart=/bin/w a ; /bin/x", "`;` doesn't separate commands here"),
            ("a.service", "ExecStart=/bin/sh -c \"a ; b\"", nil), ("a.service", "ExecStart=/bin/find -exec a \\;", nil),
            ("a.service", "ExecStart=/bin/w a;", nil),
            ("a.service", "ExecStart=/bin/w \"a\\nb\"", "escapes such as `\\n` aren't read here"),
            ("a.service", "ExecStart=/bin/w 'a\\x20b'", "escapes such as"), ("a.service", "ExecStart=/bin/w a\\tb", "escapes such as"),
            ("a.service", "ExecStart=/bin/w \"a\\\"b\\\\\"", nil), ("a.service", "ExecStart=/bin/w 'a\\.b' \"\\1\"", nil),
        ] as [(String, String, String?)]
    )
    func notes(name: String, lines: String, note: String?) throws {
        let (_, yaml, notes, _) = try Self.imported([name: "[Service]\n\(lines)\n"], name)
        guard let note else { return #expect(notes == [], "\(notes)") }
        // The line is the last one.
        let place = "\(name):\(lines.split(separator: "\n").count + 1): [Service] "
        #expect(notes.contains { $0.hasPrefix(place) && $0.contains(note) }, "\(notes)")
        #expect(!lines.contains("ExecStop=") || !yaml.contains("hooks"), "\(yaml)")
    }

    @Test("The instance of a template is in its unit's name, and unescaped where the unit wants that; words stay words")
    func instances() throws {
        let name = "w@srv-my\\x20data-\\xc3\\xa4.service"
        let unit = "[Service]\nExecStart=/bin/w %p /%I\nEnvironment=NAME=%i\nWorkingDirectory=/%I\n"
        let (children, _, notes, _) = try Self.imported([name: unit], name)
        let program = try Self.program(children.first)
        #expect(program.command == ["/bin/w", "w", "/srv/my data/ä"] && program.directory == "/srv/my data/ä")
        #expect(program.environment == ["NAME": "srv-my\\x20data-\\xc3\\xa4"] && notes == [], "\(notes)")
    }

    @Test(
        "What an old file discards isn't on the daemon's standard error either",
        arguments: [
            ("supervisord.conf", "stdout_logfile=NONE\nstderr_logfile=NONE", false),
            ("supervisord.conf", "stdout_logfile=/dev/null\nredirect_stderr=true", false),
            // The errors that supervisord would have in a file of its own go too, and a note says so.
            ("supervisord.conf", "stdout_logfile=NONE", false),
            ("supervisord.conf", "stdout_logfile=NONE\nstderr_logfile=/tmp/errors", true),
            ("a.service", "StandardOutput=null", false), ("a.service", "StandardOutput=null\nStandardError=inherit", false),
            ("a.service", "StandardOutput=null\nStandardError=null", false),
            ("a.service", "StandardOutput=null\nStandardError=journal", true),
            ("ecosystem.json", "\"disable_logs\": true", false), ("ecosystem.json", "\"out_file\": \"/dev/null\"", false),
            ("ecosystem.json", "\"out_file\": \"NULL\", \"error_file\": \"NULL\"", false),
        ]
    )
    func discarded(name: String, lines: String, isShown: Bool) throws {
        let text =
            switch name {
            case "supervisord.conf": "[program:a]\ncommand=cat\n\(lines)\n"
            case "a.service": "[Service]\nExecStart=/bin/cat\n\(lines)\n"
            default: "{\"apps\": [{\"name\": \"a\", \"script\": \"a.js\", \(lines)}]}"
            }
        let (children, yaml, notes, _) = try Self.imported([name: text], name)
        let logging = try #require(children.first?.logging)
        let copy: LoggingConfiguration.DaemonCopy = isShown ? .labelled : .none
        #expect(yaml.contains("file: none") && logging.daemonCopy == copy, "\(yaml)")
        let hasOwnErrors = ["stdout_logfile=NONE", "\"out_file\": \"/dev/null\""].contains(lines)
        #expect(notes.contains { $0.contains("standard error is discarded too") } == hasOwnErrors, "\(notes)")
    }

    @Test("A comment of supervisord's file begins with either sign after any white space, and nowhere else")
    func comments() throws {
        let text = """
            [program:a] ; of the section
            command=cat a#b;c\t# one ; two
            directory=/srv ;one #two
            environment=A="1", ; first
              B="2" # second
            user= # nobody
            """
        let files = ["supervisord.conf": text + "\n[include]\nfiles=more.ini # others\n", "more.ini": "[program:b]\ncommand=tac # c\n"]
        let (children, _, _, _) = try Self.imported(files, "supervisord.conf")
        #expect(children.map(\.key) == ["a", "b"])
        let (first, last) = (try Self.program(children.first), try Self.program(children.last))
        #expect(first.command == ["cat", "a#b;c"] && first.directory == "/srv" && first.environment == ["A": "1", "B": "2"])
        #expect(first.process.attributes.user == nil && last.command == ["tac"])
    }

    @Test(
        "A program of supervisord's that needn't stay has no shortest life, and failed starts that aren't tried again are noted",
        arguments: [
            ("", .seconds(1), false), ("startsecs=0", .zero, false), ("startsecs=0\nautorestart=false", .zero, false),
            ("autorestart=false", .seconds(1), true), ("startsecs=5\nstartretries=2\nautorestart=no", .seconds(5), true),
            ("startretries=0\nautorestart=false", .seconds(1), false), ("autorestart=true", .seconds(1), false),
        ] as [(String, Duration, Bool)]
    )
    func starts(lines: String, time: Duration, isNoted: Bool) throws {
        let text = "[program:a]\ncommand=cat\n\(lines)\n"
        let (children, yaml, notes, _) = try Self.imported(["supervisord.conf": text], "supervisord.conf")
        #expect(try Self.program(children.first).settings.startSeconds == time, "\(yaml)")
        let place = "supervisord.conf:\(lines.split(separator: "\n").count + 2): [program:a] autorestart: supervisord tries a start"
        #expect(notes.contains { $0.hasPrefix(place) } == isNoted, "\(notes)")
    }

    @Test("A service has the sockets of the units beside it")
    func sockets() throws {
        let files = [
            "web.service": "[Service]\nExecStart=/usr/bin/web\nSockets=admin.socket\n",
            "web.socket": """
            [Socket]
            ListenStream=8080
            ListenStream=[::1]:81
            ListenStream=/run/web.sock
            ListenDatagram=514
            ListenStream=@abstract
            """,
            "admin.socket": "[Socket]\nListenStream=/run/admin.sock\nSocketMode=0600\nFileDescriptorName=admin\nService=web.service\n",
        ]
        for name in ["web.service", "web.socket"] {
            let (children, _, notes, _) = try Self.imported(files, name)
            let sockets = try Self.program(children.first).settings.sockets
            #expect(children.count == 1 && Set(sockets.map(\.name)) == ["web.socket", "admin"])
            let addresses = Set(sockets.map(\.address))
            #expect(addresses.contains(.path("/run/web.sock", mode: 0o666)) && addresses.contains(.path("/run/admin.sock", mode: 0o600)))
            #expect(addresses.count == 4)
            for line in ["web.socket:5: [Socket] ListenDatagram: not", "web.socket:6: [Socket] ListenStream: not"] {
                #expect(notes.contains { $0.hasPrefix(line) }, "\(notes)")
            }
        }
    }

    @Test("Times, hooks and capabilities of a unit, and the times of pm2, act as they did")
    func timesAndHooks() throws {
        let unit = """
            [Service]
            Type=oneshot
            ExecStartPre=/bin/mkdir -p /srv/backup
            ExecStart=/usr/bin/backup
            ExecStopPost=/usr/bin/tell
            AmbientCapabilities=CAP_DAC_READ_SEARCH CAP_CHOWN
            MemoryMax=64M
            CPUQuota=50%
            TasksMax=10
            """
        let timer = "[Timer]\nOnCalendar=hourly\nOnCalendar=*-*-* 03:30:00\nPersistent=true\n"
        let (children, _, notes, _) = try Self.imported(["backup.service": unit, "backup.timer": timer], "backup.timer")
        let (child, program) = (try #require(children.first), try Self.program(children.first))
        #expect(program.isOneshot && child.schedule?.cron.description == "30 3 * * *" && child.schedule?.missed == .run)
        #expect(program.settings.hooks.beforeStart?.command == ["/bin/mkdir", "-p", "/srv/backup"])
        #expect(program.settings.hooks.afterEnd?.command == ["/usr/bin/tell"])
        #expect(program.process.attributes.capabilities == [.dacReadSearch, .chown])
        let limits = program.process.attributes.groupLimits
        #expect(limits?.memory == 64 << 20 && limits?.pids == 10 && limits?.cpus == 0.5)
        let lost = "backup.timer:2: [Timer] OnCalendar: not carried over: a child has one `schedule`"
        #expect(notes.contains { $0.hasPrefix(lost) }, "\(notes)")

        let apps = """
            {"apps": [{"name": "a", "script": "a.js", "cron_restart": "0 3 * * *"},
                      {"name": "b", "script": "b.js", "cron_restart": "0 0 3 * * *"}]}
            """
        let (pm2, _, others, _) = try Self.imported(["ecosystem.json": apps], "ecosystem.json")
        #expect(pm2[0].schedule?.cron.description == "0 3 * * *" && pm2[0].schedule?.overlap == .restart && pm2[0].restart == .permanent)
        #expect(pm2[1].schedule == nil && others.contains { $0.contains("b cron_restart: not carried over") }, "\(others)")
    }

    @Test("What stands for the number of an instance here means itself in a file of others")
    func literalInstance() throws {
        let text = """
            [program:a]
            command=a {instance} %(process_num)d
            directory=/srv/{instance}
            environment=X="{instance}"
            stdout_logfile=/tmp/{instance}.log
            numprocs=2
            process_name=%(program_name)s_%(process_num)d
            [program:b]
            command=b {instance}
            """
        let (children, _, _, _) = try Self.imported(["supervisord.conf": text], "supervisord.conf")
        let (first, last) = (try #require(children.withInstances.first), try Self.program(children.last))
        let program = try Self.program(first)
        #expect(program.command.last?.contains("{instance}") == true && program.command.last?.contains("{{") == false, "\(program.command)")
        #expect(program.environment["X"] == "{instance}" && program.directory == "/srv/{instance}" && last.command == ["b", "{instance}"])
        if case .file(let file)? = first.logging?.destination { #expect(file.contains("{instance}") && !file.contains("{{")) }
    }

    @Test("process-compose's dependencies, probes and shells are kept")
    func processCompose() throws {
        let text = """
            environment: ["S=${SECRET}", "A=1"]
            processes:
              db:
                command: postgres -D data
                availability: { restart: always }
                readiness_probe: { exec: { command: pg_isready }, period_seconds: 2 }
              migrate:
                command: ./migrate {{.V}}
                vars: { V: 3 }
                depends_on: { db: { condition: process_healthy } }
              web:
                command: exec web $PORT
                replicas: 2
                shutdown: { signal: 2, timeout_seconds: 4 }
                depends_on: { migrate: { condition: process_completed_successfully } }
            """
        let (children, yaml, _, directory) = try Self.imported(["process-compose.yaml": text], "process-compose.yaml", ["SECRET": "secret"])
        #expect(children.map(\.key) == ["db", "migrate", "web"] && !yaml.contains("secret"))
        let db = try Self.program(children.first)
        #expect(db.command == ["sh", "-c", "export S=\"${SECRET-}\"; exec bash -c \"postgres -D data\""] && db.environment == ["A": "1"])
        #expect(db.settings.readiness == .command(["bash", "-c", "pg_isready"], interval: .seconds(2), timeout: .seconds(1)))
        #expect(children[1].requires == ["db"] && children[2].requires == ["migrate"] && children[2].instances == 2)
        #expect(try Self.program(children.last).settings.stopSignal == .interrupt && Self.program(children.last).directory == directory)
        #expect(
            try Self.program(children[1]).command.last?.contains("./migrate 3") == true && children[2].shutdown == .timeout(.seconds(4))
        )
    }

    @Test(
        "Of a process's command and entry point the command counts",
        arguments: [
            ("command: cat", ["bash", "-c", "cat"]), ("entrypoint: [tac, -b]", ["tac", "-b"]),
            ("{ command: cat, entrypoint: [tac] }", ["bash", "-c", "cat"]), ("{ command: '', entrypoint: [tac] }", ["tac"]),
        ]
    )
    func entryPoint(keys: String, command: [String]) throws {
        let text = "processes:\n  a:\n    \(keys)\n"
        let (children, _, _, _) = try Self.imported(["process-compose.yaml": text], "process-compose.yaml")
        #expect(try Self.program(children.first).command == command)
    }
}
