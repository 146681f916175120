import Processes
import Supervision
import TestSupport
import Testing

@testable import DaemonConfiguration

@Suite("The keys of processes")
struct ProcessSettingsTests {
    private static func program(_ keys: String) throws -> ConfiguredProgram {
        let text = "children: [{ name: a, program: { command: [cat], \(keys) } }]"
        let child = try DaemonConfiguration.parse(text: text, file: "f").children.first
        guard case .program(let program)? = child?.content else { throw CancellationError() }
        return program
    }

    @Test("All keys of a program are read")
    func all() throws {
        let program = try Self.program(
            """
            user: www-data, group: 33, umask: 027, nice: -5, environment_files: [/etc/a, -b], inherit_environment: false,
            limits: { nofile: { soft: 1024, hard: unlimited }, core: 0, as: 2GiB, cpu: 2m, stack: unlimited,
              memory: 512MiB, cpus: 1.5, pids: 64 },
            recycle: { after: 24h, memory: 512MiB }, stop_signal: QUIT, exit_codes: [2, 3], start_seconds: 5s, start_timeout: 1m,
            ready: notify, watchdog: 10s, stop_group: true, final_exit_codes: [78, 125], stdin: /dev/zero, memory_max: 1GiB, oom_score_adj: -5, capabilities: [chown, CAP_NET_BIND_SERVICE],
            health: { http: 'http://localhost:8080/up?x', interval: 2s, timeout: 1s, retries: 5, start_period: 30s, on_failure: report }
            """
        )
        let attributes = program.process.attributes
        #expect(attributes.user == "www-data")
        #expect(attributes.group == "33")
        #expect(attributes.umask == 0o027)
        #expect(attributes.nice == -5)
        #expect(
            attributes.limits == [
                .openFiles: .init(soft: 1_024, hard: nil), .core: .init(0), .addressSpace: .init(2 << 30), .cpuTime: .init(120),
                .stack: .unlimited,
            ]
        )
        #expect(program.process.environmentFiles == ["/etc/a", "-b"])
        #expect(!program.process.inheritsEnvironment)
        #expect(program.process.recycling == RecyclingSettings(age: .seconds(86_400), memory: 512 << 20))
        let health = HealthCheck(
            .http(port: 8_080, path: "/up?x"),
            interval: .seconds(2),
            timeout: .seconds(1),
            retries: 5,
            startPeriod: .seconds(30),
            onFailure: .report
        )
        #expect(attributes.groupLimits == GroupLimits(memory: 512 << 20, cpus: 1.5, pids: 64))
        #expect(attributes.oomScoreAdjustment == -5 && attributes.capabilities == [.chown, .netBindService])
        var settings = ProgramSettings(
            stopSignal: .quit,
            exitCodes: [2, 3],
            startSeconds: .seconds(5),
            startTimeout: .seconds(60),
            readiness: .notify,
            watchdog: .seconds(10),
            health: health
        )
        (settings.stopsGroup, settings.finalExitCodes) = (true, [78, 125])
        (settings.standardInput, settings.memoryLimit) = (.file("/dev/zero"), 1 << 30)
        #expect(program.settings == settings)
        for (text, input) in [("null", ProgramInput.null), ("'null'", .null), ("open", .open)] {
            #expect(try Self.program("stdin: \(text)").settings.standardInput == input)
        }
    }

    @Test(
        "Each way of readiness and each check is read",
        arguments: [
            ("ready: { fd: 4 }", ProgramSettings(readiness: .descriptor(4))),
            ("ready: { command: ['true'] }", ProgramSettings(readiness: .command(["true"]))),
            (
                "ready: { command: [a, b], interval: 2s, timeout: 3s }",
                ProgramSettings(readiness: .command(["a", "b"], interval: .seconds(2), timeout: .seconds(3)))
            ),
            ("health: { tcp: 5432 }", ProgramSettings(health: HealthCheck(.tcp(port: 5_432)))),
            ("health: { tcp: '[::1]:1' }", ProgramSettings(health: HealthCheck(.tcp(port: 1)))),
            ("health: { http: 'http://[::1]:80' }", ProgramSettings(health: HealthCheck(.http(port: 80)))),
            (
                "sockets: [{ name: a, listen: '127.0.0.1:80' }, { name: b, listen: '*:81' }, { name: c, listen: '[::1]:82' }, { name: d, listen: /d, mode: 0660 }]",
                ProgramSettings(
                    sockets: [
                        SocketSpecification(name: "a", address: .tcp(host: "127.0.0.1", port: 80)),
                        SocketSpecification(name: "b", address: .tcp(host: "::", port: 81)),
                        SocketSpecification(name: "c", address: .tcp(host: "::1", port: 82)),
                        SocketSpecification(name: "d", address: .path("/d", mode: 0o660)),
                    ]
                )
            ),
            ("health: { command: [a, '1'] }", ProgramSettings(health: HealthCheck(.command(["a", "1"])))),
            ("stop_signal: SIGUSR1", ProgramSettings(stopSignal: .user1)),
            ("start_seconds: 0s", ProgramSettings(startSeconds: .zero)),
        ] as [(String, ProgramSettings)]
    )
    func forms(keys: String, settings: ProgramSettings) throws {
        #expect(try Self.program(keys).settings == settings)
    }

    @Test(
        "A bad value is a problem that says what is expected",
        arguments: [
            ("umask: 8", "`umask` is the number 8; expected octal digits, such as 027"),
            ("umask: 01000", "`umask` is the number 01000; expected octal digits, such as 027"),
            ("umask: -1", "`umask` is the number -1; expected octal digits, such as 027"),
            ("nice: 20", "`nice` is the number 20; expected a whole number from -20 to 19"),
            ("user: []", "`user` is a list; expected the name or the number of an account"),
            ("limits: { nofil: 1 }", "unknown key `nofil` in `limits`; did you mean `nofile`?"),
            ("limits: { core: 1MB }", "`core` is `1MB`; expected a number of bytes, or a whole number and a unit"),
            ("limits: { nofile: 1KiB }", "`nofile` is `1KiB`; expected a whole number from 0 to 2147483647, or unlimited"),
            ("limits: { core: { soft: 2, hard: 1 } }", "the limit `soft` of `core` is above `hard`"),
            ("limits: { core: { soft: 2 } }", "`core` has no `hard`"),
            ("limits: { cpus: 0 }", "`cpus` is the number 0; expected a number from 0.01"),
            ("oom_score_adj: 1001", "`oom_score_adj` is the number 1001; expected a whole number from -1000 to 1000"),
            ("capabilities: [net_bind]", "a capability is `net_bind`; expected one of"),
            ("stdin: ~/a", "`stdin` is `~/a`, and no shell replaces `~` here"),
            ("environment_files: a", "`environment_files` is `a`; expected a list of paths"),
            ("environment_files: [-~/a]", "an environment file is `~/a`, and no shell replaces `~` here"),
            ("inherit_environment: maybe", "`inherit_environment` is `maybe`; expected true or false"),
            ("recycle: { messages: 5 }", "`messages` is for workers"), ("recycle: { after: 0s }", "`after` is zero"),
            ("stop_signal: STOP", "`stop_signal` is `STOP`; expected one of"), ("stop_signal: TRM", "did you mean `TERM`?"),
            ("exit_codes: 3", "`exit_codes` is the number 3; expected a list of exit codes, such as [0, 3]"),
            ("exit_codes: [256]", "an exit code is the number 256; expected a whole number from 0 to 255"),
            ("start_seconds: 5", "`start_seconds` is 5 without a unit; expected 5s"), ("start_timeout: 0s", "`start_timeout` is zero"),
            ("ready: running", "`ready` is `running`; expected `notify`, or a mapping with `fd`, `command`, `log`, `http` or `tcp`"),
            ("ready: { fd: 2 }", "`fd` is the number 2; expected a whole number from 3 to 255"),
            ("ready: {}", "`ready` has neither `fd` nor `command`, and no `log`, and no `http`, and no `tcp`; expected one of them"),
            ("ready: { fd: 3, timeout: 1s }", "`timeout` belongs to `command`"),
            ("ready: { log: up, interval: 1s }", "`interval` belongs to `command`"),
            ("ready: { log: '(' }", "isn't a regular expression"), ("ready: { http: 'http://example.com' }", "an address on this machine"),
            ("sockets: {}", "`sockets` is a mapping; expected a list of sockets"),
            ("sockets: [{ name: a }]", "a socket has no `listen`"), ("sockets: [{ listen: /a }]", "a socket has no `name`"),
            ("sockets: [{ name: 'a:b', listen: /a }]", "`name` is `a:b`; expected letters and digits"),
            ("sockets: [{ name: a, listen: 'localhost:80' }]", "`listen` is `localhost:80`; expected an address in numbers"),
            ("sockets: [{ name: a, listen: '::1:80' }]", "`listen` is `::1:80`"),
            ("sockets: [{ name: a, listen: '*:0' }]", "`listen` is `*:0`"),
            ("sockets: [{ name: a, listen: a.sock }]", "`listen` is `a.sock`"),
            ("sockets: [{ name: a, listen: '*:1', mode: 0660 }]", "`mode` is for a socket at a path"),
            ("sockets: [{ name: a, listen: /a, mode: 0999 }]", "`mode` is"),
            ("sockets: [{ name: a, listen: /a }, { name: b, listen: /a }]", "`listen` is `/a`, as of a socket before"),
            (
                "sockets: [{ name: a, listen: /a }], ready: { fd: 3 }",
                "`fd` is 3, which is a socket of the program; expected 4 or more"
            ),
            ("watchdog: 0s", "`watchdog` is zero"), ("health: {}", "`health` has neither `command` nor `http`, and no `tcp`; expected one"),
            ("health: { tcp: 1, http: 'http://localhost' }", "`health` has both `http` and `tcp`; expected one"),
            ("health: { tcp: 0 }", "`tcp` is the number 0"),
            ("health: { tcp: 'db:5432' }", "`tcp` is `db:5432`; expected a whole number from 1 to 65535, a port of this machine"),
            ("health: { http: 'https://localhost' }", "`http` is `https://localhost`; expected an address on this machine"),
            ("health: { http: 'http://127.0.0.1.example.com/' }", "`http` is"),
            ("health: { http: 'http://localhost:80/a b' }", "`http` is"), ("health: { tcp: 1, retries: 0 }", "`retries` is the number 0"),
            ("health: { tcp: 1, on_failure: stop }", "`on_failure` is `stop`"),
        ]
    )
    func problems(keys: String, message: String) {
        let error = #expect(throws: ConfigurationError.self) { try Self.program(keys) }
        #expect(error?.problems.count == 1)
        #expect(error?.problems.first?.message.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test("A worker has the keys of processes")
    func worker() throws {
        let keys = "executable: a, coordinator: B, user: b, group: 7, umask: 0, recycle: { messages: 5, after: 1h }"
        let children = try DaemonConfiguration.parse(text: "children: [{ name: a, worker: { \(keys) } }]", file: "f").children
        let process = ProcessSettings(
            attributes: ProcessAttributes(user: "b", group: "7", umask: 0),
            recycling: RecyclingSettings(age: .seconds(3_600), messages: 5)
        )
        #expect(children.first?.content == .worker(.init(executable: "a", coordinator: "B", process: process)))
    }

    @Test("A worker has spares; a wrong number, and a program's, are problems")
    func spares() throws {
        func parse(_ keys: String) throws -> ConfiguredChild? {
            try DaemonConfiguration.parse(text: "children: [{ name: a, \(keys) }]", file: "f").children.first
        }
        for (keys, count) in [("spares: 2", 2), ("spares: 0", 0), ("spares: 100", 100), ("hang: report", 0)] {
            let child = try parse("worker: { executable: a, coordinator: B, \(keys) }")
            #expect(child?.content == .worker(.init(executable: "a", coordinator: "B", spares: count)))
        }
        for (keys, message) in [
            ("worker: { executable: a, coordinator: B, spares: -1 }", "`spares` is the number -1; expected a whole number from 0 to 100"),
            ("worker: { executable: a, coordinator: B, spares: 101 }", "`spares` is the number 101; expected a whole number from 0 to 100"),
            ("worker: { executable: a, coordinator: B, spares: 1.5 }", "expected a whole number from 0 to 100"),
            ("worker: { executable: a, coordinator: B, spare: 1 }", "unknown key `spare` in `worker`; did you mean `spares`?"),
            ("program: { command: [cat], spares: 1 }", "unknown key `spares` in `program`"),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try parse(keys) }
            #expect(error?.problems.count == 1 && error?.description.contains(message) == true, "\(error?.description ?? "")")
        }
    }

    @Test("The lives of a worker may overlap; those of others, and of one that is killed at once, may not")
    func overlap() throws {
        func parse(_ keys: String) throws -> ConfiguredChild? {
            try DaemonConfiguration.parse(text: "children: [{ name: a, \(keys) }]", file: "f").children.first
        }
        let worker = "worker: { executable: a, coordinator: B }"
        #expect(try parse("\(worker), overlap: true")?.overlap == true)
        #expect(try parse("\(worker), overlap: false, stop_timeout: brutal_kill")?.overlap == false)
        #expect(try parse(worker)?.overlap == false)
        for (keys, message) in [
            ("\(worker), overlap: true, stop_timeout: brutal_kill", "f:1:75: `overlap` needs time for what a life has taken"),
            ("program: { command: [cat] }, overlap: true", "f:1:61: `overlap` is for workers: a program has no messages"),
            ("children: [], overlap: true", "f:1:46: `overlap` is for workers; expected it at the children"),
            ("\(worker), overlap: maybe", "f:1:75: `overlap` is `maybe`; expected true or false"),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try parse(keys) }
            #expect(error?.problems.count == 1 && error?.description.contains(message) == true, "\(error?.description ?? "")")
        }
    }

    @Test("A backoff has its factor and its jitter")
    func backoff() throws {
        func parse(_ keys: String) throws -> DaemonConfiguration {
            try DaemonConfiguration.parse(text: "children: []\nsupervision: { backoff: { \(keys) } }", file: "f")
        }
        let backoff = try parse("factor: 1.5, jitter: 0").supervision.backoff
        #expect(backoff.factor == 1.5)
        #expect(backoff.jitter == 0)
        let error = #expect(throws: ConfigurationError.self) { try parse("factor: 0.5, jitter: lots") }
        #expect(error?.problems.count == 2, "\(error?.description ?? "")")
    }

    @Test("What the file names must be there: users, groups, files of variables")
    func checked() throws {
        let directory = try TemporaryDirectory()
        let text = """
            children:
              - { name: a, program: { command: [cat], user: no-such-user } }
              - { name: b, program: { command: [cat], group: no-such-group } }
              - { name: c, program: { command: [cat], environment_files: [-/none, /none] } }
            """
        try Files.write(text, to: directory.file("f.yaml"))
        let error = #expect(throws: ConfigurationError.self) {
            try DaemonConfiguration.load(path: directory.file("f.yaml"), checkingFiles: true)
        }
        let expected = [
            "2: There is no user \"no-such-user\".", "3: There is no group \"no-such-group\".",
            "4: Could not read the variables in /none: No such file",
        ]
        let messages = error?.problems.map { "\($0.line): \($0.message)" } ?? []
        #expect(messages.count == expected.count && zip(messages, expected).allSatisfy { $0.hasPrefix($1) }, "\(messages)")
    }
}
