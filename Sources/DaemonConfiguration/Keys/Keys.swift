import ConcurrencySupport
import Processes
import Supervision
import WireProtocol

/// The declarations of all keys, a table for each mapping of the file.
enum Keys {
    /// The tables in the order of the reference.
    static var tables: [any KeyTable] {
        [
            file, child, placement, cluster, storeSecurity, operatorGroup, observability, traces, metrics, draining, oneshot, worker,
            program, limits, limit(.core), recycling, ready, socket, health, hooks, hook, schedule, supervision, restartLimits, backoff,
            logging,
        ]
    }

    /// What a change of the file's own settings does, unless a key says otherwise.
    static let ofFile = KeyPlace(path: "", effect: .nextDaemon)
    /// What a change of a child does, unless a key says otherwise.
    static let ofChild = KeyPlace(path: "", effect: .restart)

    static let file = Table(
        "file",
        DaemonConfiguration(children: []),
        .when("logging", ["logging": ["properties": ["file": ["const": "none"]]]])
    ) {
        Key("children", .children, \.children, default: "required; `[]` for nothing", effect: .live)
            .or("programs", "services", "processes").required("the list of what the daemon keeps alive (`children: []` for nothing)")
            .inScope { configuration, scope in
                scope.supervision = configuration.supervision
                scope.logging = configuration.logging
            }
            .says("The list of children.")
        Key("supervision", .table(supervision), \.supervision, default: "all its defaults", effect: .live)
            .says("The supervision of the children: see below.")
        Key("orphan_grace", .duration, \.orphanGrace)
            .says(
                """
                The time for which the daemon's own workers live on when it was killed, so that the next daemon adopts them; with `0s` \
                they die with it.
                """
            )
        Key("operators", .operators, \.operators, default: "its own user and root").or("permissions", "roles")
            .says(
                """
                The users who may operate the daemon, beside its own and root: a mapping, or a list of such mappings, see below.
                """
            )
        Key("logging", .table(logging), \.logging, default: "all its defaults", effect: .live).or("logs")
            .says("What becomes of the children's output: see below.")
        Key("observability", .table(observability), \.observability, default: "nothing").or("telemetry")
            .says("What is recorded of the tree, and where it's exported: see below.")
        Key("cluster", .table(cluster), \.cluster, default: "it isn't one").says("The daemon as a node of a cluster: see below.")
        Key("include", .included, \.include, default: "none", effect: .live).or("includes", "imports")
            .says(
                """
                Files whose children come after those of this file: a path or a list of paths, directories and patterns, such as \
                `[web.yaml, conf.d, "sites/*.yaml"]`; see below.
                """
            )
        Key("defaults", .defaults, \.defaults, default: "none", effect: .live).or("default", "common")
            .says("What each worker and program has that doesn't say it itself: a mapping with keys of a child; see below.")
    } check: { reader, fields, configuration in
        configuration.receives = configuration.children.routes
        reader.checkPaths(in: configuration.children)
        guard let node = fields["logging"]?["file"], case .file? = configuration.logging.destination else { return }
        reader.report(at: node.mark, "`file` is for one child, and this `logging` is for all; expected `directory`, or `file: none`")
    }

    // MARK: Operators

    static let operatorGroup = Table("operators", OperatorConfiguration.Group("")) {
        Key("group", .account("the name or the number of a group"), \.name, default: "none")
            .required("the name or the number of a group")
            .says(
                """
                The name or the number of a group whose members may use `coordinatorctl`. The control socket then has mode 0660 and that \
                group, and the group can pass through the runtime directory, which it can't list; the kernel keeps everyone else out. A \
                daemon that isn't root's must be a member of the group. With several groups the socket has an access control list instead, \
                the directory lets everyone pass, and the daemon needn't be a member. The audit names the user of each command.
                """
            )
        Key("role", .choice, \.role)
            .says(
                """
                What the members may do. `observe`: look at the tree, its processes, logs, events and numbers. `operate`: also start, \
                stop, restart, signal, pause, scale and move what the file has, and send messages. `administer`: also apply files, \
                upgrade, and shut down; **of a daemon of root this is root**, because a file and an executable that they name run as root. \
                A member of several groups has the highest of their roles. The daemon's own user and root have all.
                """
            )
    } check: { reader, fields, group in
        guard reader.checksFiles, !group.name.isEmpty, let node = fields["group"] else { return }
        do throws(ProcessError) {
            _ = try Account.groupID(group.name)
        } catch {
            reader.report(at: node.mark, error.message)
        }
    }

    // MARK: Observability

    static let observability = Table("observability", ObservabilityConfiguration()) {
        Key("traces", .table(traces), \.traces, default: "none").says("The spans of messages: see below.")
        Key("metrics", .table(metrics), \.metrics, default: "none")
            .says(
                """
                The times of asks by path and message, for operators and the console, and the export of all numbers: see below.
                """
            )
    }

    static let traces = Table("traces", ObservabilityConfiguration.Traces(destination: .file("")), .one(["file", "endpoint"])) {
        Key("file", .exportFile, \.exported.file, default: "one of `file` and `endpoint` is required")
            .says("A file of requests, one a line.")
        Key("endpoint", .endpoint, \.exported.endpoint, default: "one of `file` and `endpoint` is required")
            .says("The address of a receiver, such as `http://127.0.0.1:4318`; there is no https.")
        Key("sample", .number(0...1), \.sample).or("ratio")
            .says(
                """
                The share of the traces that are recorded, from 0 to 1; a message that comes with a trace follows that trace's own \
                decision.
                """
            )
    }

    static let metrics = Table("metrics", ObservabilityConfiguration.Metrics(), .oneAtMost(["file", "endpoint"])) {
        Key("file", .exportFile, \.destination.file, default: "none").says("A file of requests in OTLP/JSON, one a line.")
        Key("endpoint", .endpoint, \.destination.endpoint, default: "none")
            .says("The address of a receiver, such as `http://127.0.0.1:4318`; there is no https.")
        Key("interval", .duration(atLeast: .milliseconds(100)), \.interval).says("The time between two exports, at least `100ms`.")
    }

    // MARK: Supervision

    static let supervision = Table("supervision", SupervisionPolicy()) {
        Key("strategy", .choice, \.strategy)
            .says(
                """
                The siblings that are restarted with a failed child: `one_for_one`: none; `one_for_all`: all; `rest_for_one`: those after it.
                """
            )
        Key("max_restarts", .integer(0...1_000_000), \.intensity, default: "`5`; of a program `unlimited`")
            .formerly("intensity").or("retries", "startretries", "burst", "max_attempts")
            .says(
                """
                The number of restarts in the period that a child may have; with one more it is given up, and an operator has to start it. \
                The restarts of each child are counted separately. A program isn't given up unless the file says so.
                """
            )
        Key("period", .period, \.period).or("window").says("The time in which restarts are counted.")
        Key("backoff", .table(backoff), \.backoff, default: "all its defaults").or("backoff_seconds", "restart_delay")
            .says("The wait before a restart: see below.")
    } check: { _, fields, policy in
        if fields["max_restarts"] != nil { policy.limitsFailures = true }
    }

    static let restartLimits = Table("restart_limits", RestartLimits()) {
        Key("max_restarts", .intensity, \.intensity, default: "that of `supervision`").formerly("intensity")
            .or("retries", "startretries", "burst", "max_attempts")
            .says("As above, or `unlimited`: the child is never given up.")
        Key("period", .period, \.period, default: "that of `supervision`").or("window").says("As above.")
        Key("backoff", .table(backoff) { $0.scope.supervision.backoff }, \.backoff, default: "that of `supervision`")
            .or("backoff_seconds")
            .says("As above.")
        Key("counts", .choice, \.counts, default: "`failures` for a program, `every_restart` for a worker or group")
            .says(
                """
                The restarts that count: `failures`: after failed starts and later abnormal ends; `failed_starts`: after those alone; \
                `every_restart`: after normal ends too.
                """
            )
        Key("first_delay", .duration, \.firstDelay, default: "none").or("initial_delay")
            .says("The wait before the first restart of a row.")
        Key("delay", .duration, \.delay, default: "the backoff's").or("restart_delay", "restart_sec", "fixed_delay")
            .says("The wait before each restart, after whatever end, in the place of the backoff's.")
    }

    static let backoff = Table("backoff", Backoff()) {
        Key("minimum", .duration, \.minimum).or("initial").says("The shortest wait.")
        Key("maximum", .duration, \.maximum).or("limit").says("The longest wait.")
        Key("reset_after", .duration, \.resetAfter).says("The length of a life that ends the row.")
        Key("factor", .number(1...1_000), \.factor).or("multiplier")
            .says("The factor by which each wait is longer than the one before, at least 1.")
        Key("jitter", .number(0...1), \.jitter).says("The largest share of a wait that is left out at random, from 0 to 1.")
    } check: { reader, fields, backoff in
        guard backoff.minimum > backoff.maximum else { return }
        let (minimum, maximum) = (backoff.minimum.configurationText, backoff.maximum.configurationText)
        reader.report(at: fields.mark, "`backoff` goes from \(minimum) down to \(maximum); expected `minimum` to be at most `maximum`")
    }

    // MARK: Logging

    static let logging = Table("logging", LoggingConfiguration(), .oneAtMost(["directory", "file"])) {
        Key("directory", .logDirectory, \.destination.directory, default: "systemd's, or `logs` in the runtime directory: see below")
            .says(
                """
                The directory of the files, which is made when it is missing. A file is named after its child's path: `shop.log`, \
                `group/shop.log`.
                """
            )
        Key("file", .logFile, \.destination.file, default: "").or("stdout_logfile")
            .says(
                """
                The file of one child; `none` keeps no file. It takes the place of `directory`. Each instance of a child with `instances` \
                has its own: `web.log` becomes `web-1.log`, `web-2.log` and so on.
                """
            )
        Key("format", .choice, \.format)
            .says(
                """
                `lines`: `TIME STREAM TAGS TEXT`, as Kubernetes' container runtimes write it; `json`: an object for each line; `raw`: what \
                the child has written, and nothing else.
                """
            )
        Key("maximum_size", .logSize, \.maximumSize).or("max_size", "stdout_logfile_maxbytes")
            .says(
                """
                The size at which a file is rotated: a whole number and `KiB`, `MiB`, `GiB`, `KB`, `MB` or `GB`, 16 KiB at least; `0`: \
                never.
                """
            )
        Key("keep", .integer(0...99), \.keep).or("stdout_logfile_backups", "max_backups")
            .says("The number of former files, `.1`, `.2` and so on, from 0 to 99.")
        Key("standard_error", .choice, \.standardError).or("stderr", "redirect_stderr")
            .says(
                """
                `together`: with standard output, in order; `separate`: by itself, so that each line tells its stream. Workers have one \
                stream. It counts from a child's next life on.
                """
            )
        Key("to_daemon", .daemonCopy, \.daemonCopy)
            .says(
                """
                What the daemon's own output has of the lines. `true`: each one, on standard error, with the child's path before it, or as \
                an object with `--log-format json`; `raw`: as they were written, those of standard output on standard output; `false`: \
                nothing.
                """
            )
        Key("mode", .permissions(3...4, "octal permissions, such as 0640"), \.mode, default: "`0600` for a new file").or("permissions")
            .says(
                """
                The permissions of the files, in octal, such as `0640`. If others than the owner may read them, the directories that the \
                daemon makes for them have `0755`, less its umask.
                """
            )
        Key("owner", .fileOwner, \.owner, default: "the daemon's").or("user")
            .says(
                """
                The owner of the files: `user`, `user:group` or `:group`, names or numbers. Only a daemon of root can give a file to another \
                user; a group has to be one of the daemon's.
                """
            )
    }
}

// MARK: - Values

extension Value<[ConfiguredChild]> {
    static var children: Value {
        var value = Value(["type": "array", "items": ["$ref": "#/$defs/child"]], show: { "\($0.count) children" }) { reader, node, _ in
            reader.children(node)
        }
        value.table = { Keys.child }
        // A plan compares the children by their keys.
        value.differences = { _, _, _ in [] }
        return value
    }
}

extension Value<OperatorConfiguration> {
    /// One group, or a list of groups.
    static var operators: Value {
        let group = Value<OperatorConfiguration.Group>.table(Keys.operatorGroup)
        let groups = group.list("an item of `operators`", expected: "")
        let none: JSONValue = ["type": "object", "maxProperties": 0]
        var value = Value(["anyOf": [none, group.schema, groups.schema]], show: { groups.show($0.groups) }) { reader, node, name in
            if case .mapping(let pairs) = node.content, pairs.isEmpty { return OperatorConfiguration() }
            if case .sequence = node.content { return groups.read(&reader, node, name).map { OperatorConfiguration(groups: $0) } }
            return group.read(&reader, node, name).map { OperatorConfiguration(groups: [$0]) }
        }
        value.table = group.table
        return value
    }
}

extension Value<RestartLimits.Intensity> {
    static var intensity: Value {
        let count = Value<Int>.integer(0...1_000_000, or: ", or unlimited")
            .map(RestartLimits.Intensity.restarts) { if case .restarts(let count) = $0 { count } else { nil } }
        return count.or("unlimited", .unlimited) { reader, node, name in
            guard let word = node.text, word.first?.isLetter == true else { return count.read(&reader, node, name) }
            reader.report(at: node.mark, "\(name) is `\(word)`; \(Spelling.hint(for: word, among: ["unlimited"])) (or a whole number)")
            return nil
        }
    }
}

extension Value<Duration> {
    static var period: Value { positive("a time in which restarts can be counted, such as 60s") }
}

extension Value<String> {
    static var exportFile: Value { path("the path of a file") { $0.checkPlace($1, at: $2) } }

    static var endpoint: Value {
        let host = "([!-.0-9;-?A-Z\\\\^-~]+|\\[[!-.0-?A-Z\\\\^-~]+\\])"
        let pattern = "^http://\(host)(:\(NumberPattern.isPositive)\(NumberPattern.port))?(/[!\"$-~]*)?$"
        return Value(["type": "string", "pattern": .string(pattern)]) { reader, node, name in
            guard let address = reader.text(node, name, expected: "an address such as http://127.0.0.1:4318") else { return nil }
            do throws(HTTPEndpoint.InvalidAddress) {
                _ = try HTTPEndpoint(address, defaultPort: 4318)
                return address
            } catch {
                reader.report(at: node.mark, "\(name) is `\(address)`: \(error)")
                return nil
            }
        }
    }

    static var logDirectory: Value { path("the path of a directory") { $0.checkPlace("\($1)/child.log", at: $2) } }

    static var logFile: Value {
        path("the path of the log file, or none") { reader, path, node in
            if path != "none" { reader.checkPlace(path, at: node) }
        }
    }
}

extension Value<Int64> {
    /// The size at which a log file is rotated; a line has up to 8 KiB.
    static var logSize: Value {
        // At least 16 KiB.
        let forms = ["KiB", "KB", "[MG]i?B"].enumerated().map { NumberPattern.atLeast([16, 17, 1][$0]) + $1 }
        let pattern = "^(?=[0-9]{1,9}[A-Z])(\(forms.joined(separator: "|")))$"
        let schema: JSONValue = ["anyOf": [["const": 0], ["type": "string", "pattern": .string(pattern)]]]
        return Value(schema, show: { $0.sizeText }) { reader, node, name in
            let expected = "a whole number and a unit, such as 512KiB, 10MiB or 1GiB, or 0 for a file that isn't rotated"
            if case .integer(0)? = node.plain { return 0 }
            let text = node.text ?? ""
            let digits = text.prefix { ("0"..."9").contains($0) }
            let units: [String: Int64] = [
                "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1000, "MB": 1_000_000, "GB": 1_000_000_000,
            ]
            guard digits.count <= 9, let count = Int64(digits), let unit = units[String(text.dropFirst(digits.count))] else {
                reader.report(at: node.mark, "\(name) is \(node.summary), which isn't a size; expected \(expected)")
                return nil
            }
            if count * unit >= 16 << 10 { return count * unit }
            reader.report(at: node.mark, "\(name) is \(count * unit) bytes; expected at least 16KiB, or 0")
            return nil
        }
    }
}

// MARK: - Properties

extension ObservabilityConfiguration.Traces {
    /// The destination, which a key sets.
    fileprivate var exported: ObservabilityConfiguration.Destination? {
        get { destination }
        set { destination = newValue ?? destination }
    }
}

extension ObservabilityConfiguration.Destination? {
    fileprivate var file: String? {
        get { if case .file(let path) = self { path } else { nil } }
        set { self = newValue.map { .file($0) } ?? self }
    }

    fileprivate var endpoint: String? {
        get { if case .endpoint(let address) = self { address } else { nil } }
        set { self = newValue.map { .endpoint($0) } ?? self }
    }
}

extension LoggingConfiguration.Destination? {
    fileprivate var directory: String? {
        get { if case .directory(let path) = self { path } else { nil } }
        set { self = newValue.map { .directory($0) } ?? self }
    }

    fileprivate var file: String? {
        get {
            switch self {
            case .file(let path)?: path
            case LoggingConfiguration.Destination.none?: "none"
            case .directory?, nil: nil
            }
        }
        set { self = newValue.map { $0 == "none" ? LoggingConfiguration.Destination.none : .file($0) } ?? self }
    }
}
