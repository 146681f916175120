import Glibc
import Processes
import WireProtocol

/// What has a process: a worker, or a program.
protocol ConfiguredProcess: Hashable, Sendable {
    var environment: [String: String] { get set }
    var directory: String? { get set }
    var process: ProcessSettings { get set }
}

extension ConfiguredWorker: ConfiguredProcess {}
extension ConfiguredProgram: ConfiguredProcess {}

extension Keys {
    static let worker = Table("worker", ConfiguredWorker(executable: "", coordinator: "")) {
        Key("executable", .path("the path of the worker's executable"), \.executable)
            .or("command", "path").required("the path of the worker's executable")
            .says("The path of the worker's executable.")
        Key("coordinator", .text("the name of the coordinator that the worker hosts"), \.coordinator)
            .required("the name of the coordinator that the worker hosts")
            .says("The name of the coordinator that the worker hosts, as its executable registers it.")
        Key("configuration", .any, \.configuration, default: "none").or("config", "settings")
            .says("The values that replace those of the coordinator's default configuration.")
        surroundings()
        Key("hang", .choice, \.hang)
            .says(
                """
                The response to a worker whose coordinator gets no processor time any more, because one of its handlers, or all threads of \
                the process, compute or are blocked: `report`, or `restart`.
                """
            )
        attributes(
            user:
                "The user as whom the worker runs, as for a program. Its link is accepted from that user alone, at a socket that belongs to it; the runtime directory then lets others pass, who can't list it. An upgrade and the next daemon keep such a worker as any other. Workers below it have their sockets in a directory of that user.",
            effect: nil
        )
        Key("memory_max", .positiveSize, \.memoryLimit, default: "any").formerly("memory_limit").or(
            "memory",
            "max_memory",
            "max_memory_restart"
        )
        .says(
            """
            The memory (resident sets of the process and its descendants, measured each second; workers and programs below it count by \
            themselves) above which the process is killed and its asks fail; the restart counts \
            against no limit. A coordinator that is above it when it's ready isn't started. `recycle` replaces a process in order.
            """
        )
        Key("spares", .integer(0...100), \.spares, effect: .live)
            .says(
                """
                The number of processes, from 0 to 100, that are kept started and waiting for the worker's next life: see below.
                """
            )
    } check: { reader, fields, worker in
        if let node = fields["executable"], !worker.executable.isEmpty {
            reader.checkExecutable(worker.executable, searchPath: nil, directory: worker.directory, at: node)
        }
        reader.checkAccounts(fields, worker.process)
    }

    static let program = Table(
        "program",
        ConfiguredProgram(command: []),
        .when("recycle", ["recycle": ["properties": ["messages": false]]])
    ) {
        command()
        Key("start_seconds", .duration, \.settings.startSeconds, default: "a second, which doesn't delay readiness", effect: .live).or(
            "startsecs",
            "min_uptime"
        )
        .says(
            """
            The time that the program must run: if it ends before, its start has failed, whatever the exit code. A time that the file \
            has also delays the program's readiness; the default doesn't, and holds for programs that are always restarted.
            """
        )
        Key("start_timeout", .positive(), \.settings.startTimeout, default: "`30s`", effect: .live).or("listen_timeout", "timeout")
            .says("The time within which the program must be ready; otherwise it's stopped, and its start has failed.")
        Key("ready", .ready, \.settings.ready, default: "it's ready once it runs", effect: .live).or("readiness", "readiness_probe")
            .says("The way in which the program shows that it's ready: see below.")
        Key("watchdog", .positive(), \.settings.watchdog, default: "it need not", effect: .live).or("watchdog_sec")
            .says("The time within which the program must send `WATCHDOG=1` again and again: see below.")
        Key("health", .table(health), \.settings.health, default: "none", effect: .live).or("healthcheck", "health_check", "liveness_probe")
            .says("The check that is made again and again: see below.")
        Key("sockets", .sockets, \.settings.sockets, default: "none").or("listen")
            .says("The listening sockets that the program gets, a list: see below.")
        Key("memory_max", .positiveSize, \.settings.memoryLimit, default: "any", effect: .live).or(
            "memory_limit",
            "memory",
            "max_memory",
            "max_memory_restart"
        )
        .says(
            """
            The memory (resident sets of the program and its descendants, measured each second) above which the program is stopped and \
            started again, a size; the restart counts against no limit. Pages that processes share are counted for each.
            """
        )
        commands()
        daemonLoss()
    } check: { reader, fields, program in
        reader.check(fields, program)
        reader.checkDaemonLoss(fields, program)
    }

    static let oneshot = Table("oneshot", ConfiguredProgram(command: [], isOneshot: true)) {
        // What ends by itself isn't replaced.
        command().filter { $0.description.name != "recycle" }
        Key("start_timeout", .positive(), \.settings.startTimeout, default: "any", effect: .live).or("listen_timeout", "timeout")
            .says("The time within which the program must end; otherwise it's stopped, and has failed.")
        commands()
    } check: { reader, fields, program in
        reader.check(fields, program)
    }

    /// The keys of every program, whether it runs on or to its end.
    @KeyList<ConfiguredProgram> private static func command() -> [Key<ConfiguredProgram>] {
        Key("command", .command("a list of the program and its arguments, such as [python3, mailer.py]"), \.command)
            .or("cmd", "exec", "executable", "script").required("a list of the program and its arguments, such as [python3, mailer.py]")
            .says(
                """
                The program and its arguments, a list. Without a slash the program is looked up in `PATH`; no shell is involved.
                """
            )
        surroundings()
        attributes(
            user:
                "The user as whom the program runs, a name or a number, with all groups of that user, and with `HOME`, `USER`, `LOGNAME` and `SHELL` unless `environment` has them. Only a daemon of root can choose another one.",
            effect: .live
        )
        Key("stop_signal", .stopSignal, \.settings.stopSignal, effect: .live).or("stopsignal", "kill_signal", "signal")
            .says(
                """
                The signal that asks the program to stop: `TERM`, `INT`, `QUIT`, `HUP`, `USR1`, `USR2`, `WINCH`, `ALRM`, `ABRT`, `PWR` or \
                `KILL`.
                """
            )
        Key("exit_codes", .exitCodes, \.settings.exitCodes, effect: .live).or("exitcodes", "success_exit_status")
            .says("The exit codes, besides 0, with which the program ends as it should, a list.")
        Key("stdin", .input, \.settings.standardInput).or("input", "standard_input")
            .says(
                """
                What the program reads on its standard input: `null`: its end; `open`: nothing, without an end, for a program that ends with its \
                input; or the path of a file.
                """
            )
        Key("stop_group", .truth, \.settings.stopsGroup, effect: .live).or("stopasgroup", "kill_mode", "treekill")
            .says(
                """
                `true`: the stop signal goes to the program's whole process group at once; `false`: to the program, and to the others when \
                it has ended, within what is left of the time.
                """
            )
        Key("final_exit_codes", .exitCodes, \.settings.finalExitCodes, default: "none", effect: .live)
            .or("restart_prevent_exit_status", "stop_exit_codes")
            .says("The exit codes after which the program isn't started again, a list: an operator has to start it.")
    }

    /// The keys of every program about its hooks, which the daemon runs, and so can change.
    @KeyList<ConfiguredProgram> private static func commands() -> [Key<ConfiguredProgram>] {
        Key("hooks", .table(hooks), \.settings.hooks, default: "none", effect: .live).or("exec_start_pre", "exec_stop_post", "exec_reload")
            .says("The commands that are run at certain moments: see below.")
    }

    /// The keys of every process about what it finds.
    @KeyList<Process> private static func surroundings<Process: ConfiguredProcess>() -> [Key<Process>] {
        Key("environment", .environment, \.environment, default: "none").or("env", "environ")
            .says("Variables that are added to the daemon's, a mapping of names to values.")
        Key("directory", .workingDirectory, \.directory, default: "the daemon's")
            .or("cwd", "chdir", "workdir", "working_dir", "working_directory")
            .says("The working directory.")
    }

    /// The keys of every process about what it is.
    ///
    /// - Parameter effect: What a change does of which the running process, or what looks after it, can follow; nil: it needs another process.
    @KeyList<Process>
    private static func attributes<Process: ConfiguredProcess>(user: String, effect: ChangeEffect?) -> [Key<Process>] {
        Key("user", .account("the name or the number of an account"), \.process.attributes.user, default: "the daemon's")
            .or("uid", "run_as")
            .says(user)
        Key("group", .account("the name or the number of an account"), \.process.attributes.group, default: "that of the `user`").or("gid")
            .says("The group, a name or a number.")
        Key("umask", .permissions(1...4, "octal digits, such as 027"), \.process.attributes.umask, default: "the daemon's")
            .says("The permissions that new files don't get, in octal, such as `027`.")
        Key("nice", .integer(-20...19), \.process.attributes.nice, default: "the daemon's", effect: effect).or("priority")
            .says("The niceness, from `-20`, the highest priority, to `19`.")
        Key("limits", .table(limits), \.process.attributes.allLimits, default: "the daemon's", effect: effect).or("rlimits", "ulimits")
            .says("The limits of resources: see below.")
        Key("environment_files", .environmentFiles, \.process.environmentFiles, default: "none").or("env_file", "environment_file")
            .says("Files of variables, a list of paths: see below.")
        Key("inherit_environment", .truth, \.process.inheritsEnvironment).or("copy_env")
            .says("Whether the process gets the daemon's variables too.")
        Key("recycle", .table(recycling), \.process.recycling, default: "never", effect: effect).or("max_age")
            .says("The rules for when the process is replaced without a failure: see below.")
        powers()
    }

    static let limits = Table("limits", LimitKeys()) {
        Key("nofile", .limit(.openFiles), \.resources[.openFiles], default: "the daemon's").formerly("open_files").or("fds")
            .says("The number of descriptors.")
        Key("nproc", .limit(.processes), \.resources[.processes], default: "the daemon's").formerly("processes").or("tasks")
            .says("The number of processes and threads of the user, all of them together; root has no such limit.")
        Key("core", .limit(.core), \.resources[.core], default: "the daemon's").says("The bytes of a core dump; `0` for none.")
        Key("as", .limit(.addressSpace), \.resources[.addressSpace], default: "the daemon's").formerly("address_space").or("virtual_memory")
            .says("The bytes of address space.")
        Key("data", .limit(.data), \.resources[.data], default: "the daemon's").says("The bytes of data.")
        Key("stack", .limit(.stack), \.resources[.stack], default: "the daemon's").says("The bytes of the first thread's stack.")
        Key("fsize", .limit(.fileSize), \.resources[.fileSize], default: "the daemon's").formerly("file_size").says(
            "The bytes of a file that is written."
        )
        Key("memlock", .limit(.lockedMemory), \.resources[.lockedMemory], default: "the daemon's").formerly("locked_memory")
            .says("The bytes of memory that is locked into RAM.")
        Key("cpu", .limit(.cpuTime), \.resources[.cpuTime], default: "the daemon's").formerly("cpu_time")
            .says("The processor time, as a duration or a number of seconds.")
        groupLimits()
    }

    static func limit(_ resource: ProcessAttributes.Resource) -> Table<ProcessAttributes.Limit> {
        let unit = resource.isInBytes ? "_in_bytes" : resource == .cpuTime ? "_in_time" : ""
        return Table("limit\(unit)", ProcessAttributes.Limit(soft: 0, hard: nil)) {
            Key("soft", .bound(resource), \.soft).required("the limit that holds")
                .says("The limit that holds, which the process may raise up to `hard`.")
            Key("hard", .bound(resource), \.hard).required("the limit up to which `soft` may be raised")
                .says("The limit that only root may raise.")
        } check: { reader, fields, limit in
            guard limit.soft ?? .max > limit.hard ?? .max else { return }
            reader.report(at: fields.mark, "the limit `soft` of \(fields.name) is above `hard`; expected it to be at most that")
        }
    }

    static let recycling = Table("recycle", RecyclingSettings()) {
        Key("after", .positive(), \.age, default: "never").or("age", "max_age")
            .says("The age at which the process is replaced, give or take a tenth at random.")
        Key("memory", .positiveSize, \.memory, default: "any").or("max_memory")
            .says(
                """
                The memory (resident sets of the process and its descendants, measured each second) beyond which the process is replaced, a size.
                """
            )
        Key("messages", .integer(1...Int.max), \.messages, default: "any").or("max_requests")
            .says("The number of messages after which a worker is replaced.")
    }

    // MARK: Programs

    private static func triesNothing(_ key: String) -> KeyRule { .when(key, ["interval": false, "timeout": false]) }

    static let ready = Table("ready", ReadyKeys(), .one(["fd", "command", "log", "http", "tcp"]), triesNothing("fd"), triesNothing("log")) {
        Key("fd", .integer(3...255), \.descriptor, default: "")
            .says("The number of a descriptor, 3 to 255, to which the program writes a newline when it's ready, as s6 has it.")
        Key(
            "command",
            .command("a list of a program and its arguments that ends with exit code 0 when all is ready"),
            \.command,
            default: ""
        )

        .says(
            """
            A command that ends with exit code 0 when the program is ready, a list. It runs as the program does, again and again.
            """
        )
        Key("interval", .positive(), \.interval).says("The time between two trials of `command`, `http` or `tcp`.")
        Key("timeout", .positive(), \.timeout).says("The time of one trial.")
        Key("log", .linePattern, \.log, default: "").or("ready_log_line", "line", "pattern")
            .says(
                """
                A pattern, a POSIX extended regular expression, that is in a line which the program writes when it's ready, to its standard \
                output or its standard error.
                """
            )
        Key("http", .http, \.http, default: "").or("http_get", "url")
            .says("An address on this machine that answers GET with a status from 200 to 399 when the program is ready.")
        Key("tcp", .port, \.tcp, default: "").or("port")
            .says("A port on this machine that accepts connections when the program is ready.")
    } check: { reader, fields, _ in
        for key in ["interval", "timeout"] where fields["fd"] != nil || fields["log"] != nil {
            guard let node = fields[key], ["command", "http", "tcp"].allSatisfy({ fields[$0] == nil }) else { continue }
            reader.report(at: node.mark, "`\(key)` belongs to `command`, `http` and `tcp`; expected `start_timeout` beside `ready`")
        }
    }

    static let health = Table("health", HealthCheck(.tcp(port: 0)), .one(["command", "http", "tcp"])) {
        Key("command", .command("a list of a program and its arguments"), \.command, default: "").or("exec", "test")
            .says("A command that ends with exit code 0, a list; it runs as the program does.")
        Key("http", .http, \.http, default: "").or("http_get", "url")
            .says(
                """
                An address on this machine that answers GET with a status from 200 to 399, such as `http://127.0.0.1:8080/health`.
                """
            )
        Key("tcp", .port, \.tcp, default: "").or("port").says("A port on this machine that accepts connections.")
        Key("interval", .positive(), \.interval).or("period", "period_seconds")
            .says("The time between the end of a check and the next one.")
        Key("timeout", .positive(), \.timeout).or("timeout_seconds").says("The time within which a check must succeed.")
        Key("retries", .integer(1...1_000), \.retries).or("failure_threshold")
            .says("The number of failures in a row to which `on_failure` responds.")
        Key("start_period", .duration, \.startPeriod).or("initial_delay")
            .says("The time, from when the program is ready, within which failures don't count; the first success ends it.")
        Key("on_failure", .choice, \.onFailure)
            .says(
                """
                `restart`: the program is stopped and restarted, as after a failure; `report`: the failures are only logged and shown.
                """
            )
    }

    static let socket = Table(
        "socket",
        SocketKeys(),
        .when("mode", ["listen": ["pattern": "^/"]])
    ) {
        Key("name", .socketName, \.name).required("the name by which the program finds the socket").says("The name in `LISTEN_FDNAMES`.")
        Key("listen", .socketAddress, \.listen)
            .or("address", "port").required("an address, such as 127.0.0.1:8080, or an absolute path")
            .says(
                """
                An address in numbers and a port, `127.0.0.1:8080` or `[::1]:8080`; `*:8080` for all addresses; or the absolute path of a \
                Unix socket.
                """
            )
        Key("mode", .permissions(3...4, "octal permissions, such as 0660"), \.mode).or("permissions")
            .says("The permissions of a socket at a path, in octal, such as `0660`.")
    } check: { reader, fields, socket in
        guard let node = fields["mode"], case .tcp? = SocketSpecification.address(socket.listen) else { return }
        reader.report(at: node.mark, "`mode` is for a socket at a path; expected no such key")
    }
}

extension ConfigurationReader {
    /// Reports a user and a group that the process can't have.
    fileprivate mutating func checkAccounts(_ fields: Fields, _ process: ProcessSettings) {
        guard checksFiles, let problem = Account.problem(with: process.attributes) else { return }
        report(at: (fields["user"] ?? fields["group"])?.mark ?? fields.mark, problem)
    }

    fileprivate mutating func check(_ fields: Fields, _ program: ConfiguredProgram) {
        checkAccounts(fields, program.process)
        if let node = fields["recycle"]?["messages"] {
            report(at: node.mark, "`messages` is for workers: a program handles none; expected `after` or `memory`")
        }
        if let name = program.command.first, case .sequence(let nodes)? = fields["command"]?.content, let node = nodes.first {
            // Without PATH execvp(3) looks there.
            let searchPath = program.environment["PATH"] ?? getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
            checkExecutable(name, searchPath: searchPath, directory: program.directory, at: node)
        }
        checkHooks(fields["hooks"], of: program)
        var addresses: [SocketSpecification.Address] = []
        if case .sequence(let nodes)? = fields["sockets"]?.content {
            for node in nodes.compactMap({ $0["listen"] }) {
                guard let address = SocketSpecification.address(node.text ?? "") else { continue }
                if addresses.contains(address) {
                    report(at: node.mark, "`listen` is \(node.summary), as of a socket before; expected another address")
                }
                addresses.append(address)
            }
        }
        let targets = GivenSockets.firstTarget..<GivenSockets.firstTarget + Int32(program.settings.sockets.count)
        if case .descriptor(let number) = program.settings.readiness, targets.contains(number), let node = fields["ready"] {
            report(at: node.mark, "`fd` is \(number), which is a socket of the program; expected \(targets.upperBound) or more")
        }
    }
}

// MARK: - Values

extension Value<[String: String]> {
    /// Variables, whose values may be secrets.
    static var environment: Value {
        let name = Value<String>(["type": "string", "pattern": "^[^=]+$"]) { reader, node, _ in
            if let name = node.text, !name.isEmpty, !name.contains("=") { return name }
            reader.report(at: node.mark, "the name of a variable is \(node.summary); expected a name without `=`")
            return nil
        }
        return texts(name, "of names to values, such as { LANG: C }", isSecret: true) { "the variable `\($0)`" }
    }
}

extension Value<[String]> {
    static var environmentFiles: Value {
        let file = Value<String>(["type": "string", "minLength": 1, "pattern": "^(?!-?(\\$|~$|~/))"]) { reader, node, name in
            guard let text = reader.text(node, name, expected: "the path of a file") else { return nil }
            let isOptional = text.hasPrefix("-")
            guard let path = reader.path(isOptional ? String(text.dropFirst()) : text, name, at: node) else { return nil }
            if reader.checksFiles { reader.checkEnvironmentFile(text, at: node) }
            return isOptional ? "-\(path)" : path
        }
        return file.list("an environment file", expected: "a list of paths; one that begins with `-` may be missing")
    }
}

extension Value<String> {
    static var workingDirectory: Value { path("the path of a directory") { $0.checkDirectory($1, at: $2) } }

    static var linePattern: Value {
        Value(["type": "string", "minLength": 1]) { reader, node, name in
            guard let text = reader.text(node, name, expected: "a pattern") else { return nil }
            do throws(LinePattern.Problem) {
                _ = try LinePattern(text)
                return text
            } catch {
                reader.report(at: node.mark, "\(name) is \(node.summary): \(error.message); expected a POSIX extended regular expression")
                return nil
            }
        }
    }

    static var socketName: Value {
        // The names are joined by colons.
        text(
            "letters and digits, without spaces and colons",
            schema: ["type": "string", "pattern": "^[!-9;-~]{1,255}$"],
            summary: { node, _ in node.summary },
            where: { name in name.utf8.count <= 255 && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") } }
        )
    }

    static var socketAddress: Value {
        let expected =
            "an address in numbers and a port, such as 127.0.0.1:8080, [::1]:8080 or *:8080, or an absolute path of at most "
            + "\(RuntimeDirectory.maximumSocketPathLength) bytes"
        let byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
        let host = "(\\*|\(byte)(\\.\(byte)){3}|\\[[0-9A-Fa-f:.]+\\])"
        let pattern = "^(/.{0,\(RuntimeDirectory.maximumSocketPathLength - 1)}|\(host):\(portPattern))$"
        return Value(["type": "string", "pattern": .string(pattern)]) { reader, node, name in
            guard let text = reader.text(node, name, expected: "an address").map(InstancePorts.first) else { return nil }
            switch SocketSpecification.address(text) {
            case .path(let path, _)?: reader.checkPlace(path, at: node)
            case .tcp?: break
            case nil:
                reader.report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
                return nil
            }
            return text
        }
    }
}

extension Value<ProcessAttributes.Limit> {
    static func limit(_ resource: ProcessAttributes.Resource) -> Value {
        let (bound, pair) = (Value<UInt64?>.bound(resource), Value.table(Keys.limit(resource)))
        let show: @Sendable (ProcessAttributes.Limit) -> String = { limit in
            limit.soft == limit.hard ? bound.show(limit.soft) : "{ soft: \(bound.show(limit.soft)), hard: \(bound.show(limit.hard)) }"
        }
        var value = Value(["anyOf": [bound.schema, pair.schema]], show: show) { reader, node, name in
            if case .mapping = node.content { return pair.read(&reader, node, name) }
            return bound.read(&reader, node, name).map { ProcessAttributes.Limit(soft: $0, hard: $0) }
        }
        value.table = pair.table
        return value
    }
}

extension Value<UInt64?> {
    /// The value of a limit; nil means `unlimited`.
    static func bound(_ resource: ProcessAttributes.Resource) -> Value {
        let count = Value<Int>.integer(0...Int(Int32.max)).schema
        let forms =
            resource.isInBytes ? [Value<Int>.size.schema] : resource == .cpuTime ? [count, Value<Duration>.duration.schema] : [count]
        let schema: JSONValue = ["anyOf": .array(forms + [["const": "unlimited"]])]
        return Value(schema, show: { $0.map { resource.isInBytes ? $0.sizeText : "\($0)" } ?? "unlimited" }) { reader, node, name in
            if node.text == "unlimited" { return .some(nil) }
            // In quotes, as JSON has all texts, it's one too.
            if resource == .cpuTime, node.text != nil, [.text, nil].contains(node.plain) {
                return reader.duration(node, name, or: ", or unlimited").map { UInt64(max(0, $0.components.seconds)) }
            }
            if resource.isInBytes { return reader.size(node, name, or: ", or unlimited").map { UInt64($0) } }
            return reader.wholeNumber(node, name, in: 0...Int(Int32.max), or: ", or unlimited").map { UInt64($0) }
        }
    }
}

extension Value<Signal> {
    static var stopSignal: Value {
        let names = ["TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH", "ALRM", "ABRT", "PWR", "KILL"]
        let schema: JSONValue = ["enum": .array((names + names.map { "SIG\($0)" }).map { .string($0) })]
        return Value(schema, show: { String($0.name.dropFirst(3)) }) { reader, node, name in
            let text = node.text ?? ""
            let signal = text.hasPrefix("SIG") ? String(text.dropFirst(3)) : text
            if names.contains(signal), let signal = Signal(name: signal) { return signal }
            reader.report(at: node.mark, "\(name) is \(node.summary); \(Spelling.hint(for: signal, among: names))")
            return nil
        }
    }
}

extension Value<Set<Int32>> {
    static var exitCodes: Value {
        Value<Int32>.integer(0...255).list("an exit code", expected: "a list of exit codes, such as [0, 3]").map(
            { Set($0) },
            { $0.sorted() }
        )
    }
}

extension Value<Readiness> {
    static var ready: Value {
        Value<ReadyKeys>.table(Keys.ready).map(\.readiness, ReadyKeys.init).or("notify", .notify) { reader, node, name in
            let expected = "`notify`, or a mapping with `fd`, `command`, `log`, `http` or `tcp`, such as { fd: 3 }"
            reader.report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
            return nil
        }
    }
}

extension Value<[SocketSpecification]> {
    static var sockets: Value {
        Value<SocketKeys>.table(Keys.socket).map(\.specification, SocketKeys.init)
            .list("a socket", expected: "a list of sockets, such as [{ name: http, listen: 127.0.0.1:8080 }]", atMost: 64)
    }
}

extension Value<UInt16> {
    /// A port of this machine, which may be written with one of the machine's names.
    static var port: Value {
        let number = Value.integer(1...65_535, or: ", a port of this machine")
        let pattern = "^(\(localHosts):\(portPattern)|\(instancePortPattern))$"
        return Value(["anyOf": [number.schema, ["type": "string", "pattern": .string(pattern)]]]) { reader, node, name in
            let text = node.text ?? ""
            let first = InstancePorts.first(text)
            if let (port, path) = localAddress(first), path.isEmpty { return port }
            if first != text, let port = UInt16(first), port > 0 { return port }
            return number.read(&reader, node, name)
        }
    }
}

extension Value<HealthCheck.Probe> {
    static var http: Value {
        let show: @Sendable (HealthCheck.Probe) -> String = { probe in
            if case .http(let port, let path) = probe { "http://127.0.0.1:\(port)\(path)" } else { "" }
        }
        let pattern = "^http://\(localHosts)(:\(portPattern))?(/[!-~]*)?$"
        var value = Value(["type": "string", "pattern": .string(pattern)], show: show) { reader, node, name in
            let text = InstancePorts.first(node.text ?? "")
            if text.hasPrefix("http://"), let (port, path) = localAddress(String(text.dropFirst(7)), defaultPort: 80) {
                return .http(port: port, path: path.isEmpty ? "/" : path)
            }
            let expected = "an address on this machine, such as http://127.0.0.1:8080/health"
            reader.report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
            return nil
        }
        value.changingTexts = { probe, change in
            if case .http(let port, let path) = probe { .http(port: port, path: change(path)) } else { probe }
        }
        return value
    }
}

/// The names of this machine, as a regular expression.
private let localHosts = "(127\\.0\\.0\\.1|localhost|\\[::1\\])"
/// A port with the number of an instance in it, which may be too large.
private let instancePortPattern = "[0-9]*\\{instance\\}([0-9]|\\{instance\\})*"
/// A port, or one with the number of an instance.
private let portPattern = "(\(NumberPattern.isPositive)\(NumberPattern.port)|\(instancePortPattern))"

/// Reads `127.0.0.1:8080/path`, with one of the names of this machine.
func localAddress(_ text: String, defaultPort: UInt16? = nil) -> (port: UInt16, path: String)? {
    guard let host = ["127.0.0.1", "localhost", "[::1]"].first(where: text.hasPrefix) else { return nil }
    let rest = text.dropFirst(host.count)
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    let path = String(rest[end...])
    // The path becomes a part of a request, in which a space ends it.
    guard path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    if rest[..<end].isEmpty { return defaultPort.map { ($0, path) } }
    guard rest.hasPrefix(":"), let port = UInt16(rest[..<end].dropFirst()), port > 0 else { return nil }
    return (port, path)
}

// MARK: - Properties

/// The mapping of `ready`.
struct ReadyKeys: Hashable, Sendable {
    var descriptor: Int32?
    var command: [String]?
    var interval = Duration.seconds(1)
    var timeout = Duration.seconds(5)
    var log: String?
    var http: HealthCheck.Probe?
    var tcp: UInt16?

    init() {}

    init?(_ readiness: Readiness) {
        if let trials = readiness.trials { (interval, timeout) = (trials.interval, trials.timeout) }
        switch readiness {
        case .running, .notify: return nil
        case .descriptor(let number): descriptor = number
        case .command(let command, _, _): self.command = command
        case .log(let pattern): log = pattern
        case .http(let port, let path, _, _): http = .http(port: port, path: path)
        case .tcp(let port, _, _): tcp = port
        }
    }

    var readiness: Readiness? {
        if case .http(let port, let path)? = http { return .http(port: port, path: path, interval: interval, timeout: timeout) }
        return descriptor.map { .descriptor($0) } ?? command.map { .command($0, interval: interval, timeout: timeout) }
            ?? log.map { .log($0) } ?? tcp.map { .tcp(port: $0, interval: interval, timeout: timeout) }
    }
}

/// The mapping of an item of `sockets`.
struct SocketKeys: Hashable, Sendable {
    var name = ""
    var listen = ""
    var mode: UInt32 = 0o600

    init() {}

    init?(_ specification: SocketSpecification) {
        (name, listen) = (specification.name, specification.address.description)
        if case .path(_, let mode) = specification.address { self.mode = mode }
    }

    var specification: SocketSpecification? {
        SocketSpecification.address(listen, mode: mode).map { SocketSpecification(name: name, address: $0) }
    }
}

extension ProgramSettings {
    /// The way in which the program shows that it's ready; nil: it need not.
    fileprivate var ready: Readiness? {
        get { readiness == .running ? nil : readiness }
        set { readiness = newValue ?? .running }
    }
}

extension HealthCheck {
    fileprivate var command: [String]? {
        get { if case .command(let command) = probe { command } else { nil } }
        set { probe = newValue.map { .command($0) } ?? probe }
    }

    fileprivate var http: Probe? {
        get { if case .http = probe { probe } else { nil } }
        set { probe = newValue ?? probe }
    }

    fileprivate var tcp: UInt16? {
        get { if case .tcp(let port) = probe { port } else { nil } }
        set { probe = newValue.map { .tcp(port: $0) } ?? probe }
    }
}
