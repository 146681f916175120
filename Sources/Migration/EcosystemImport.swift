import DaemonConfiguration
import FoundationEssentials
import Glibc
import WireProtocol

/// The reading of pm2's `ecosystem.json`.
struct EcosystemImport {
    private let source: ImportSource
    private let applications: [[String: JSONValue]]
    /// What the file has beside the applications.
    private var other: [String] = []
    private var imported = ImportedChildren()

    init(_ source: ImportSource) throws(ConfigurationError) {
        self.source = source
        let value: JSONValue
        if [".yml", ".yaml"].contains(where: source.path.hasSuffix) {
            value = try source.tree()?.json ?? .null
        } else {
            do {
                value = try JSONDecoder().decode(JSONValue.self, from: Data(source.text.utf8))
            } catch {
                throw source.failure(0, "the file isn't JSON; expected {\"apps\": [...]}")
            }
        }
        let list: JSONValue
        if case .object(let members) = value, let apps = members["apps"] {
            list = apps
            other = members.keys.filter { $0 != "apps" }.sorted()
        } else {
            list = value
        }
        switch list {
        case .array(let elements):
            applications = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
        case .object(let members): applications = [members]
        default: throw source.failure(0, "the file has no applications; expected {\"apps\": [...]}")
        }
    }

    /// Returns a child for each application.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        for key in other { reading.imported.note(source.path, 0, key, "not carried over: `apps` alone is") }
        for (index, application) in applications.enumerated() { reading.read(application, index) }
        return reading.imported
    }

    /// The first value that an application has of a key, under one of its names.
    private static func value(_ application: [String: JSONValue], _ key: String) -> JSONValue? {
        ([key] + (aliases[key] ?? [])).compactMap { application[$0] }.first { $0 != .null }
    }

    private static let aliases = [
        "script": ["exec"], "exec_interpreter": ["interpreter"], "node_args": ["interpreterArgs", "interpreter_args"],
        "out_file": ["out", "output", "out_log"], "error_file": ["error", "err", "err_file", "err_log"], "log_file": ["log"],
        "uid": ["user"], "cron_restart": ["cron"],
    ]

    private mutating func read(_ application: [String: JSONValue], _ index: Int) {
        let text = { (key: String) in Self.text(Self.value(application, key)) }
        let script = text("script") ?? ""
        let name =
            (text("name_prefix") ?? "")
            + (text("name") ?? script.split(separator: "/").last.map { $0.split(separator: ".").first.map(String.init) ?? String($0) }
                ?? "app-\(index)")
        guard !script.isEmpty else { return imported.note(source.path, 0, name, "not carried over: it has no `script`") }
        noteKeys(application, name)
        var child = ImportedChildren.Child(key: name)
        child.file = source.path
        child.command = command(application, script, name)
        if case .object(let members)? = application["env"] { child.environment = members.compactMapValues { Self.text($0) } }
        if let port = text("port") { child.environment["PORT"] = port }
        child.give("directory", .text(directory(text("cwd"))))
        for (key, ours) in [("uid", "user"), ("gid", "group")] {
            if let account = text(key) { child.give(ours, .text(account)) }
        }
        switch Self.value(application, "filter_env") {
        case .bool(true)?: child.give("inherit_environment", .word("false"))
        case .array?, .string?:
            imported.note(
                source.path,
                0,
                "\(name) filter_env",
                "all of the daemon's variables are passed on, or none: see `inherit_environment`"
            )
        default: break
        }
        // pm2 leaves standard input open, and signals every descendant.
        child.give("stdin", .word("open"))
        let isTree = application["treekill"] != .bool(false)
        if !child.give("stop_group", .word(isTree ? "true" : "false")), !isTree {
            imported.note(source.path, 0, "\(name) treekill", "the signal always goes to the first process alone")
        }
        // A number is in milliseconds.
        let uptime = text("min_uptime").flatMap(Self.milliseconds) ?? 1_000
        child.give("start_seconds", .time(uptime))
        if let memory = text("max_memory_restart").flatMap(Self.size) { child.give("recycle", .mapping([("memory", .word(memory))])) }
        child.give("stop_signal", .word("INT"))
        if case .array(let codes)? = application["stop_exit_codes"] {
            let numbers = codes.compactMap { Self.text($0).flatMap(Int.init) }.filter { $0 >= 0 && $0 < 256 }
            if !child.give("final_exit_codes", .list(numbers.map { .word(String($0)) })) {
                child.give("exit_codes", .list(numbers.filter { $0 > 0 }.map { .word(String($0)) }))
                child.put("restart", .word("on_failure"))
                if !numbers.contains(0) {
                    imported.note(source.path, 0, "\(name) stop_exit_codes", "after code 0 the program isn't restarted either")
                }
            }
        }
        addInstances(application, name, to: &child)
        if application["autorestart"] == .bool(false) { child.put("restart", .word("never")) }
        if application["autostart"] == .bool(false) { child.put("autostart", .word("false")) }
        child.put("stop_timeout", .word("\(max(0, text("kill_timeout").flatMap(Int.init) ?? 1_600))ms"))
        let delay = ImportedChildren.number(text("restart_delay")).flatMap { $0 > 0 ? $0 : nil }
        let first = text("exp_backoff_restart_delay").flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil }
        child.limit(ImportedChildren.number(text("max_restarts")) ?? 16, first: first, delay: delay, start: uptime, counts: "failed_starts")
        if first != nil, !KnownKeys.has("first_delay", in: "restart_limits") {
            imported.note(source.path, 0, "\(name) exp_backoff_restart_delay", "the daemon's backoff grows from 100 ms to 30 s by default")
        }
        addTimes(application, name, to: &child)
        addLogging(application, name, to: &child)
        guard let namespace = text("namespace"), namespace != "default" else { return imported.children.append(child) }
        let key = ImportedChildren.key(namespace)
        if let group = imported.groups.firstIndex(where: { $0.key == key }) {
            imported.groups[group].children.append(child)
        } else {
            imported.groups.append(.init(key: key, rank: 0, isRanked: false, children: [child]))
        }
    }

    /// Says what isn't carried over, by the table of keys.
    private mutating func noteKeys(_ application: [String: JSONValue], _ name: String) {
        guard let table = ForeignKeys.table("app", of: .pm2) else { return }
        for key in application.keys.sorted() {
            guard let message = table.fate(of: key).message, let value = application[key], value != .bool(false), value != .null else {
                continue
            }
            imported.note(source.path, 0, "\(name) \(key)", message)
        }
    }

    private mutating func command(_ application: [String: JSONValue], _ script: String, _ name: String) -> [String] {
        let interpreter = interpreter(of: script, application)
        let options = Self.value(application, "node_args").map { Self.words($0) } ?? []
        let words =
            (interpreter.map { [$0] + options } ?? []) + (interpreter == nil ? CommandWords.shell(script) : [script])
            + (application["args"].map { Self.words($0) } ?? [])
        if interpreter == nil, !script.contains("/"), !script.contains(" ") {
            // A file of the directory comes before a program of the machine.
            if access("\(directory(Self.text(application["cwd"])))/\(script)", F_OK) == 0 { return ["./\(script)"] + words.dropFirst() }
            imported.note(
                source.path,
                0,
                "\(name) script",
                "`\(script)` is looked up in PATH; write ./\(script) if it's a file of the directory"
            )
        }
        return words
    }

    /// The program that runs a script; nil: it runs by itself.
    private func interpreter(of script: String, _ application: [String: JSONValue]) -> String? {
        if let given = Self.text(Self.value(application, "exec_interpreter")) { return given == "none" ? nil : given }
        if script.contains(" ") { return nil }
        let name = script.split(separator: "/").last ?? ""
        let suffix = name.contains(".") ? String(name.split(separator: ".").last ?? "") : ""
        let interpreters = [
            "js": "node", "mjs": "node", "cjs": "node", "py": "python3", "sh": "bash", "rb": "ruby", "php": "php", "pl": "perl",
            "ts": "bun",
            "tsx": "bun", "coffee": "coffee", "ls": "lsc",
        ]
        if let known = interpreters[suffix] { return known }
        // A file without such a name is node's, unless it's a program by itself: one of the machine's, or a script of another interpreter.
        let path = script.hasPrefix("/") ? script : "\(directory(Self.text(application["cwd"])))/\(script)"
        guard access(path, F_OK) == 0 else { return script.contains("/") ? "node" : nil }
        // What is larger than any script is a program.
        guard let bytes = try? DaemonConfiguration.contents(ofFile: path) else { return nil }
        let line = bytes.prefix(128).prefix { $0 != 0x0A }
        if line.starts(with: "\u{7F}ELF".utf8) { return nil }
        return line.starts(with: "#!".utf8) && !String(decoding: line, as: UTF8.self).contains("node") ? nil : "node"
    }

    private func directory(_ path: String?) -> String {
        guard let path else { return source.directory }
        return place(path, in: source.directory)
    }

    /// A path of the file, which begins at a directory.
    private func place(_ path: String, in directory: String) -> String {
        if path.hasPrefix("/") { return path }
        let relative = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
        return relative.isEmpty || relative == "." ? directory : "\(directory)/\(relative)"
    }

    private mutating func addInstances(_ application: [String: JSONValue], _ name: String, to child: inout ImportedChildren.Child) {
        let text = Self.text(application["instances"])
        var count = text.flatMap(Int.init) ?? 1
        if let text, Int(text) == nil || count <= 0 {
            // As many as processors, or less by the number.
            let processors = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
            count = max(1, processors + min(0, count == 1 ? 0 : count))
            imported.note(source.path, 0, "\(name) instances", "\(text) is \(count) on this machine, and the file keeps that")
        }
        if count > 1 {
            child.put("instances", .word(String(min(count, 1_000))))
            let knowsNumber = KnownKeys.numbersInstances
            let variable = Self.text(application["instance_var"]) ?? "NODE_APP_INSTANCE"
            if !knowsNumber, application["instance_var"] != nil {
                imported.note(source.path, 0, "\(name) instance_var", "instances don't know their number")
            }
            if knowsNumber, LateText.isName(variable) { child.environment[variable] = LateText.instance(from: 0, width: 0) }
            if let variable = Self.text(application["increment_var"]) {
                if knowsNumber, LateText.isName(variable), let first = ImportedChildren.number(child.environment[variable]) {
                    child.environment[variable] = LateText.instance(from: first, width: 0)
                } else {
                    imported.note(source.path, 0, "\(name) increment_var", "\(variable) is the same for all instances")
                }
            }
        } else if application["increment_var"] != nil || application["instance_var"] != nil {
            imported.note(source.path, 0, "\(name) instance_var", "one instance has no number")
        }
        guard ["cluster", "cluster_mode"].contains(Self.text(application["exec_mode"]) ?? "") else { return }
        imported.note(source.path, 0, "\(name) exec_mode", "no cluster: give the instances one of the `sockets`, or each a port of its own")
    }

    /// Has the program restarted at the times of `cron_restart`; 0 is how pm2 takes them back.
    private mutating func addTimes(_ application: [String: JSONValue], _ name: String, to child: inout ImportedChildren.Child) {
        guard let text = Self.text(Self.value(application, "cron_restart")), text != "0" else { return }
        guard (try? CronExpression(text)) != nil else {
            let advice = "not carried over: `schedule` has cron's five fields, and no seconds"
            return imported.note(source.path, 0, "\(name) cron_restart", advice)
        }
        child.put("schedule", .mapping([("cron", .text(text)), ("overlap", .word("restart"))]))
        // What has times runs at these alone by default.
        guard application["autorestart"] == .bool(false) else {
            child.put("restart", .word("always"))
            return
        }
        imported.note(source.path, 0, "\(name) cron_restart", "without `autorestart` the program first runs at its times, and not at once")
    }

    private mutating func addLogging(_ application: [String: JSONValue], _ name: String, to child: inout ImportedChildren.Child) {
        let text = { (key: String) in Self.text(Self.value(application, key)).flatMap { $0 == "false" ? nil : $0 } }
        if application["disable_logs"] == .bool(true) {
            child.log("file", .word("none"))
            child.log("to_daemon", .word("false"))
            return
        }
        let (output, errors) = (text("out_file") ?? text("log_file"), text("error_file"))
        let isNone = Self.discards(output)
        let isSilent = isNone && (errors == nil || Self.discards(errors))
        if isSilent {
            child.log("to_daemon", .word("false"))
            if errors == nil {
                let advice = "standard error is discarded too: without `file` and `to_daemon` both streams are kept"
                imported.note(source.path, 0, "\(name) out_file", advice)
            }
        }
        if let output {
            child.log("file", isNone ? .word("none") : .text(place(output, in: directory(Self.text(application["cwd"])))))
            if !isNone, application["time"] != .bool(true), application["log_date_format"] == nil {
                if !child.log("format", .word("raw"), taking: "raw") {
                    imported.note(source.path, 0, "\(name) out_file", "each line begins with its time and its stream")
                }
            }
            child.log("mode", .word("0644"))
            // pm2 doesn't rotate by itself.
            child.log("maximum_size", .word("0"))
        }
        if let errors, errors != output, !isSilent {
            child.log("standard_error", .word("separate"))
            imported.note(source.path, 0, "\(name) error_file", "both streams are in one file, and each line of it tells its stream")
        }
    }

    /// Whether a file of output keeps nothing.
    private static func discards(_ file: String?) -> Bool { ["NULL", "/dev/null"].contains(file) }

    // MARK: Values

    private static func text(_ value: JSONValue?) -> String? {
        switch value {
        case .string(let text)?: text
        case .integer(let number)?: String(number)
        case .bool(let truth)?: String(truth)
        case .number(let number)?: String(number)
        default: nil
        }
    }

    private static func words(_ value: JSONValue) -> [String] {
        if case .array(let elements) = value { return elements.compactMap { text($0) } }
        return text(value).flatMap { CommandWords.split($0) } ?? []
    }

    /// Reads `5000`, `10s` or `1h`.
    private static func milliseconds(_ text: String) -> Int? {
        if let count = ImportedChildren.number(text) { return max(0, count) }
        guard let factor = ["s": 1_000, "m": 60_000, "h": 3_600_000][String(text.suffix(1))], let count = Int(text.dropLast()),
            count < 100_000
        else { return nil }
        return max(0, count) * factor
    }

    /// Reads `300M`, `1G` or a number of bytes.
    private static func size(_ text: String) -> String? {
        if Int(text) != nil { return text }
        guard let unit = text.last.map({ $0.uppercased() }), ["K", "M", "G"].contains(unit), Int(text.dropLast()) != nil else { return nil }
        return "\(text.dropLast())\(unit)iB"
    }
}
