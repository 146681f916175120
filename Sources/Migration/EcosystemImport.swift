import DaemonConfiguration
import FoundationEssentials
import WireProtocol

/// The reading of pm2's `ecosystem.json`.
struct EcosystemImport {
    private let source: ImportSource
    private let applications: [[String: JSONValue]]
    private var imported = ImportedChildren()

    init(_ source: ImportSource) throws(ConfigurationError) {
        self.source = source
        let value: JSONValue
        do {
            value = try JSONDecoder().decode(JSONValue.self, from: Data(source.text.utf8))
        } catch {
            throw source.failure(
                0,
                "the file isn't JSON; expected {\"apps\": [...]} (`node -p 'JSON.stringify(require(\"./ecosystem.config.js\"))'` converts JavaScript)"
            )
        }
        let list: JSONValue
        if case .object(let members) = value { list = members["apps"] ?? value } else { list = value }
        switch list {
        case .array(let elements): applications = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
        case .object(let members): applications = [members]
        default: throw source.failure(0, "the file has no applications; expected {\"apps\": [...]}")
        }
    }

    /// Returns a child for each application.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        for (index, application) in applications.enumerated() { reading.read(application, index) }
        return reading.imported
    }

    private static let silent: Set<String> = [
        "name", "script", "args", "interpreter", "exec_interpreter", "interpreter_args", "interpreterargs", "node_args", "cwd", "env",
        "instances", "exec_mode",
        "autorestart", "max_restarts", "min_uptime", "max_memory_restart", "kill_timeout", "out_file", "output", "out", "error_file",
        "error", "err",
        "log_file", "log", "merge_logs", "combine_logs", "uid", "gid", "stop_exit_codes", "watch", "wait_ready", "cron_restart",
        "autostart",
        "source_map_support", "restart_delay", "exp_backoff_restart_delay", "time", "namespace", "listen_timeout", "vizion", "pmx",
        "ignore_watch",
    ]

    private mutating func read(_ application: [String: JSONValue], _ index: Int) {
        let text = { (keys: String...) in keys.compactMap { Self.text(application[$0]) }.first }
        let script = text("script") ?? ""
        let name =
            text("name") ?? script.split(separator: "/").last.map { $0.split(separator: ".").first.map(String.init) ?? String($0) }
            ?? "app-\(index)"
        guard !script.isEmpty else { return imported.note(source.path, 0, name, "not carried over: it has no `script`") }
        for key in application.keys.sorted() where !Self.silent.contains(key) {
            imported.note(
                source.path,
                0,
                "\(name) \(key)",
                key.hasPrefix("env_") ? "another environment, which isn't carried over" : "not carried over"
            )
        }
        var child = ImportedChildren.Child(key: ImportedChildren.key(name))
        child.program.append(("command", .words(command(application, script, name))))
        if case .object(let members)? = application["env"] {
            child.program.append(("environment", .variables(members.compactMapValues { Self.text($0) })))
        }
        child.program.append(("directory", .text(directory(text("cwd")))))
        if let user = text("uid") { child.program.append(("user", .text(user))) }
        if let group = text("gid") { child.program.append(("group", .text(group))) }
        // A number is in milliseconds.
        if let time = text("min_uptime").flatMap(Self.duration) { child.program.append(("start_seconds", .word(time))) }
        if let memory = text("max_memory_restart").flatMap(Self.size) {
            child.program.append(("recycle", .mapping([("memory", .word(memory))])))
        }
        child.program.append(("stop_signal", .word("INT")))
        if case .array(let codes)? = application["stop_exit_codes"] {
            let numbers = codes.compactMap { Self.text($0).flatMap(Int.init) }.filter { $0 > 0 && $0 < 256 }
            if !numbers.isEmpty { child.program.append(("exit_codes", .list(numbers.map { .word(String($0)) }))) }
            child.settings.append(("restart", .word("transient")))
        }
        addInstances(application, name, to: &child)
        if application["autorestart"] == .bool(false) { child.settings.append(("restart", .word("temporary"))) }
        if application["autostart"] == .bool(false) { child.settings.append(("autostart", .word("false"))) }
        child.settings.append(("shutdown", .word("\(text("kill_timeout").flatMap(Int.init) ?? 1_600)ms")))
        addLimits(application, to: &child)
        addLogging(application, name, to: &child)
        noteRest(application, name)
        imported.children.append(child)
    }

    private mutating func command(_ application: [String: JSONValue], _ script: String, _ name: String) -> [String] {
        let interpreters = [
            "js": "node", "mjs": "node", "cjs": "node", "py": "python3", "sh": "bash", "rb": "ruby", "php": "php", "pl": "perl",
        ]
        let given = Self.text(application["interpreter"]) ?? Self.text(application["exec_interpreter"])
        let suffix = script.split(separator: ".").last.map(String.init) ?? ""
        let interpreter = given == "none" ? nil : given ?? (script.contains(".") ? interpreters[suffix] : nil)
        let options =
            ["interpreter_args", "interpreterArgs", "node_args"].compactMap { application[$0] }.first.map { Self.words($0) } ?? []
        let words =
            (interpreter.map { [$0] + options } ?? []) + CommandWords.shell(script) + (application["args"].map { Self.words($0) } ?? [])
        if interpreter == nil, !script.contains("/"), !script.contains(" ") {
            imported.note(
                source.path,
                0,
                "\(name) script",
                "`\(script)` is looked up in PATH; write ./\(script) if it's a file of the directory"
            )
        }
        return words
    }

    private func directory(_ path: String?) -> String {
        guard let path else { return source.directory }
        if path.hasPrefix("/") { return path }
        let relative = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
        return relative.isEmpty || relative == "." ? source.directory : "\(source.directory)/\(relative)"
    }

    private mutating func addInstances(_ application: [String: JSONValue], _ name: String, to child: inout ImportedChildren.Child) {
        let text = Self.text(application["instances"])
        switch text.flatMap(Int.init) {
        case let count? where count > 1: child.settings.append(("instances", .word(String(min(count, 1_000)))))
        case 1?: break
        default:
            if text != nil {
                imported.note(
                    source.path,
                    0,
                    "\(name) instances",
                    "\(text ?? ""): the number of processors isn't asked for; write `instances: N`"
                )
            }
        }
        let isCluster = ["cluster", "cluster_mode"].contains(Self.text(application["exec_mode"]) ?? "")
        guard isCluster else { return }
        imported.note(source.path, 0, "\(name) exec_mode", "no cluster: give the instances one of the `sockets`, or each a port of its own")
    }

    private func addLimits(_ application: [String: JSONValue], to child: inout ImportedChildren.Child) {
        var limits: [(String, ImportedValue)] = []
        if let count = Self.text(application["max_restarts"]).flatMap(Int.init) {
            limits.append(("intensity", .word(String(max(0, min(count, 1_000_000))))))
        }
        if let delay = Self.text(application["restart_delay"]).flatMap(Int.init), delay > 0 {
            limits.append(("backoff", .mapping([("minimum", .word("\(delay)ms")), ("maximum", .word("\(max(delay, 30_000))ms"))])))
        }
        if !limits.isEmpty { child.settings.append(("restart_limits", .mapping(limits))) }
    }

    private mutating func addLogging(_ application: [String: JSONValue], _ name: String, to child: inout ImportedChildren.Child) {
        let file = { (keys: String...) in keys.compactMap { Self.text(application[$0]) }.first }
        let (output, errors) = (file("out_file", "output", "out", "log_file", "log"), file("error_file", "error", "err"))
        var logging: [(String, ImportedValue)] = []
        if let output { logging.append(("file", .text(output == "NULL" || output == "/dev/null" ? "none" : output))) }
        if let errors, errors != output {
            logging.append(("standard_error", .word("separate")))
            imported.note(source.path, 0, "\(name) error_file", "both streams are in one file, and each line tells its stream")
        }
        if !logging.isEmpty { child.settings.append(("logging", .mapping(logging))) }
    }

    private mutating func noteRest(_ application: [String: JSONValue], _ name: String) {
        let meanings = [
            "watch": "files aren't watched; `coordinatorctl restart` after a change",
            "cron_restart": "no restarts by a calendar; `recycle: { after: 24h }` is by age",
            "wait_ready": "process.send('ready') isn't heard; send READY=1 by sd_notify(3) and set `ready: notify`",
            "exp_backoff_restart_delay": "the daemon's backoff grows from 100 ms to 30 s by default",
            "source_map_support": "write it into `command`",
        ]
        for key in application.keys.sorted() {
            guard let meaning = meanings[key], application[key] != .bool(false), application[key] != .null else { continue }
            imported.note(source.path, 0, "\(name) \(key)", meaning)
        }
    }

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
    private static func duration(_ text: String) -> String? {
        if let count = Int(text) { return "\(count)ms" }
        guard let unit = text.last, "smh".contains(unit), Int(text.dropLast()) != nil else { return nil }
        return text
    }

    /// Reads `300M`, `1G` or a number of bytes.
    private static func size(_ text: String) -> String? {
        if Int(text) != nil { return text }
        guard let unit = text.last.map({ $0.uppercased() }), ["K", "M", "G"].contains(unit), Int(text.dropLast()) != nil else { return nil }
        return "\(text.dropLast())\(unit)iB"
    }
}
