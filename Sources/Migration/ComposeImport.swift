import DaemonConfiguration
import Glibc

/// The reading of `process-compose.yaml`.
struct ComposeImport {
    private let source: ImportSource
    private var imported = ImportedChildren()
    private var shell = ["bash", "-c"]
    private var shared: [String: String] = [:]
    private var expands = true

    init(_ source: ImportSource) { self.source = source }

    /// Returns a child for each process.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        guard let root = try source.tree(), let processes = root["processes"] else {
            throw source.failure(1, "the file has no `processes`; expected a process-compose.yaml")
        }
        reading.noteKeys(root, "project", "")
        if let own = root["shell"] {
            reading.noteKeys(own, "shell_config", "shell ")
            reading.shell = [own["shell_command"]?.text ?? "bash", own["shell_argument"]?.text ?? "-c"]
        }
        reading.expands = !Truth.isTrue(root["disable_env_expansion"]?.text)
        reading.shared = reading.variables(root["environment"], [:])
        for (name, line, process) in processes.pairs { reading.read(process, name, line, root["vars"]) }
        reading.addDependencies(processes)
        return reading.imported
    }

    private mutating func read(_ process: YAMLNode, _ name: String, _ line: Int, _ vars: YAMLNode?) {
        noteKeys(process, "process", "\(name) ")
        var child = ImportedChildren.Child(key: name)
        (child.file, child.line) = (source.path, line)
        let text = { (key: String) in process[key]?.text }
        let directory = place(text("working_dir"))
        child.environment = variables(process["environment"], shared)
        if access("\(source.directory)/.env", R_OK) == 0 { child.give("environment_files", .words(["\(source.directory)/.env"])) }
        // The shell of the command has the variables, as process-compose puts them into its text before.
        let written = filled(text("command") ?? "", [vars, process["vars"]], line, name)
        let entry = process["entrypoint"]?.elements?.compactMap(\.text) ?? []
        // Of the two the command counts: AssignProcessExecutableAndArgs of process-compose's src/types/process.go.
        child.command = written.isEmpty ? entry : shell + [written.replacing("$$", with: "$")]
        if child.command.isEmpty { return imported.note(source.path, line, name, "not carried over: it has no `command`") }
        if !expands { note(name, "disable_env_expansion", line, "the shell of the command has the variables in any case") }
        child.give("directory", .text(directory))
        child.give("stdin", .word("open"))
        if Truth.isTrue(text("disabled")) { child.put("autostart", .word("false")) }
        if Truth.isTrue(text("is_elevated")) { child.give("user", .text("root")) }
        if let count = ImportedChildren.number(text("replicas")), count != 1 {
            child.put("instances", .word(String(max(0, min(count, 1_000)))))
            if KnownKeys.numbersInstances { child.environment["PC_REPLICA_NUM"] = LateText.instance(from: 0, width: 0) }
        }
        addAvailability(process["availability"], name, line, to: &child)
        addStop(process["shutdown"], name, to: &child)
        if let probe = process["readiness_probe"] { addReadiness(probe, name, directory, to: &child) }
        if let pattern = text("ready_log_line"),
            !child.give("ready", .mapping([("log", .text(pattern))])) || !KnownKeys.has("log", in: "ready")
        {
            child.forget("ready")
            note(
                name,
                "ready_log_line",
                process["ready_log_line"]?.mark.line ?? line,
                "no line of output makes a program ready: see `ready`"
            )
        }
        if let seconds = ImportedChildren.number(text("launch_timeout_seconds")) {
            child.give("start_timeout", .word("\(max(1, seconds))s"))
        }
        if let probe = process["liveness_probe"] { addHealth(probe, name, directory, to: &child) }
        addLogging(process, name, to: &child)
        imported.children.append(child)
    }

    private mutating func addAvailability(_ node: YAMLNode?, _ name: String, _ line: Int, to child: inout ImportedChildren.Child) {
        if let node { noteKeys(node, "availability", "\(name) availability.") }
        let place = node?.mark.line ?? line
        switch node?["restart"]?.text {
        case "always"?: break
        case "on_failure"?: child.put("restart", .word("on_failure"))
        case "exit_on_failure"?:
            child.put("restart", .word("never"))
            if !child.put("on_failure", .word("end_daemon")) {
                note(name, "availability.restart", place, "the daemon goes on when the program fails")
            }
        default: child.put("restart", .word("never"))
        }
        if Truth.isTrue(node?["exit_on_end"]?.text), !child.put("on_exit", .word("end_daemon")) {
            note(name, "availability.exit_on_end", place, "the daemon goes on when the program ends")
        }
        let count = ImportedChildren.number(node?["max_restarts"]?.text).flatMap { $0 > 0 ? $0 : nil }
        let delay = max(1, ImportedChildren.number(node?["backoff_seconds"]?.text) ?? 1) * 1_000
        child.limit(count, delay: delay, counts: "every_restart")
    }

    private mutating func addStop(_ node: YAMLNode?, _ name: String, to child: inout ImportedChildren.Child) {
        if let node { noteKeys(node, "shutdown", "\(name) shutdown.") }
        child.put("stop_timeout", .word("\(max(0, ImportedChildren.number(node?["timeout_seconds"]?.text) ?? 10))s"))
        if let signal = node?["signal"]?.text, let problem = child.stop(by: signal) {
            note(name, "shutdown.signal", node?.mark.line ?? 0, problem)
        }
        if let command = node?["command"]?.text, !child.hook("stop", .words(shell + [command])) {
            note(name, "shutdown.command", node?.mark.line ?? 0, "the program is stopped by a signal")
        }
        // The signal goes to the whole group unless the file says otherwise.
        let isAlone = Truth.isTrue(node?["parent_only"]?.text)
        if !child.give("stop_group", .word(isAlone ? "false" : "true")), isAlone {
            note(name, "shutdown.parent_only", node?.mark.line ?? 0, "the signal always goes to the first process alone")
        }
    }

    /// Returns the keys of a probe: a command, or an address.
    private mutating func probe(_ node: YAMLNode, _ key: String, _ name: String, _ directory: String) -> (String, ImportedValue)? {
        noteKeys(node, "probe", "\(name) \(key).")
        if let command = node["exec"]?["command"]?.text {
            if let exec = node["exec"] { noteKeys(exec, "exec", "\(name) \(key).exec.") }
            let own = node["exec"]?["working_dir"]?.text.map { place($0) }
            let moved = own.flatMap { $0 == directory ? nil : "cd \(LateText.shellWord($0)) && " } ?? ""
            return ("command", .words(shell + [moved + command]))
        }
        guard let http = node["http_get"] else { return nil }
        noteKeys(http, "http_get", "\(name) \(key).http_get.")
        let host = http["host"]?.text ?? "127.0.0.1"
        guard ["127.0.0.1", "localhost", "::1", "0.0.0.0"].contains(host) else {
            note(name, "\(key).http_get", http.mark.line, "probes are for this machine, and not for \(host)")
            return nil
        }
        let port = http["port"]?.text ?? http["num_port"]?.text ?? "80"
        return ("http", .text("http://127.0.0.1:\(port)\(http["path"]?.text ?? "/")"))
    }

    private mutating func addReadiness(_ node: YAMLNode, _ name: String, _ directory: String, to child: inout ImportedChildren.Child) {
        guard let probe = probe(node, "readiness_probe", name, directory) else { return }
        guard KnownKeys.has(probe.0, in: "ready") else {
            return note(name, "readiness_probe", node.mark.line, "no `\(probe.0)` makes a program ready: see `ready`")
        }
        child.give("ready", .mapping([probe] + times(node, [("period_seconds", "interval", 10), ("timeout_seconds", "timeout", 1)])))
        for key in ["initial_delay_seconds", "failure_threshold"] where node[key] != nil {
            note(name, "readiness_probe.\(key)", node.mark.line, "readiness is tried until `start_timeout`")
        }
    }

    private mutating func addHealth(_ node: YAMLNode, _ name: String, _ directory: String, to child: inout ImportedChildren.Child) {
        guard let probe = probe(node, "liveness_probe", name, directory) else { return }
        var health =
            [probe]
            + times(
                node,
                [("period_seconds", "interval", 10), ("timeout_seconds", "timeout", 1), ("initial_delay_seconds", "start_period", 0)]
            )
        health.append(("retries", .word(String(max(1, min(ImportedChildren.number(node["failure_threshold"]?.text) ?? 3, 1_000))))))
        child.give("health", .mapping(health))
    }

    private func times(_ node: YAMLNode, _ keys: [(String, String, Int)]) -> [(String, ImportedValue)] {
        keys.map { ($0.1, .word("\(max($0.2 == 0 ? 0 : 1, ImportedChildren.number(node[$0.0]?.text) ?? $0.2))s")) }
    }

    private mutating func addLogging(_ process: YAMLNode, _ name: String, to child: inout ImportedChildren.Child) {
        if let file = process["log_location"]?.text {
            child.log("file", .text(place(file)))
            child.log("mode", .word("0644"))
        }
        guard let node = process["log_configuration"] else { return }
        noteKeys(node, "log_configuration", "\(name) log_configuration.")
        guard let rotation = node["rotation"] else { return }
        noteKeys(rotation, "rotation", "\(name) log_configuration.rotation.")
        if let size = ImportedChildren.number(rotation["max_size_mb"]?.text) { child.log("maximum_size", .logSize(size << 20)) }
        if let count = ImportedChildren.number(rotation["max_backups"]?.text) { child.log("keep", .word(String(max(0, min(count, 99))))) }
    }

    /// Has children wait for one another, in the states that the file names.
    private mutating func addDependencies(_ processes: YAMLNode) {
        let states = [
            "process_started": (state: String?.none, isRequired: false), "process_healthy": ("healthy", true),
            "process_log_ready": ("ready", true),
            "process_completed": ("completed", false), "process_completed_successfully": ("completed", true),
        ]
        for (name, line, process) in processes.pairs {
            guard let index = imported.children.firstIndex(where: { $0.key == ImportedChildren.key(name) }) else { continue }
            for (other, place, node) in process["depends_on"]?.pairs ?? [] {
                noteKeys(node, "dependency", "\(name) depends_on.\(other).")
                let condition = node["condition"]?.text ?? "process_completed"
                guard let meaning = states[condition],
                    let target = imported.children.firstIndex(where: { $0.key == ImportedChildren.key(other) })
                else {
                    note(name, "depends_on.\(other)", max(place, line), "\(condition) of \(other) can't be waited for")
                    continue
                }
                // A program without a check is healthy when it's ready.
                let state = condition == "process_healthy" && processes[other]?["liveness_probe"] == nil ? "ready" : meaning.state
                let isKnown = state.map { KnownKeys.has(meaning.isRequired ? "requires" : "after", in: "child", taking: $0) } ?? true
                if !isKnown, state != "ready" {
                    note(name, "depends_on.\(other)", place, "the child waits until \(other) runs, and not for \(condition)")
                }
                let restart = processes[other]?["availability"]?["restart"]?.text
                let retries = restart == "on_failure"
                if state == "completed", isKnown, restart != "always", KnownKeys.has("oneshot", in: "child") {
                    imported.children[target].becomeOneshot(retries: retries)
                }
                imported.children[index].after.append((imported.children[target].key, isKnown ? state : nil, meaning.isRequired))
            }
        }
    }

    // MARK: Values

    /// Says what isn't carried over, by the table of keys.
    private mutating func noteKeys(_ node: YAMLNode, _ section: String, _ prefix: String) {
        guard let table = ForeignKeys.table(section, of: .processCompose) else { return }
        for (key, line, value) in node.pairs {
            guard let message = table.fate(of: key).message, !Truth.isFalse(value.text) else { continue }
            imported.note(source.path, line, prefix + key, message)
        }
    }

    private mutating func note(_ name: String, _ key: String, _ line: Int, _ message: String) {
        imported.note(source.path, line, "\(name) \(key)", message)
    }

    private func place(_ path: String?) -> String {
        guard let path, path != "." else { return source.directory }
        if path.hasPrefix("/") { return path }
        return "\(source.directory)/\(path.hasPrefix("./") ? String(path.dropFirst(2)) : path)"
    }

    /// Reads a list of `NAME=value`, or a mapping; other variables that a value names stay open.
    private func variables(_ node: YAMLNode?, _ given: [String: String]) -> [String: String] {
        var result = given
        let pairs =
            node?.elements?.compactMap { element in
                element.text.flatMap { text in
                    text.firstIndex(of: "=").map { (String(text[..<$0]), String(text[text.index(after: $0)...])) }
                }
            } ?? node?.pairs.map { ($0.key, $0.value.text ?? "") } ?? []
        for (name, value) in pairs { result[name] = expands ? Self.opened(value, result) : value }
        return result
    }

    /// Replaces `$NAME` and `${NAME}` by variables that are known, and leaves the others open.
    static func opened(_ text: String, _ known: [String: String]) -> String {
        LateText.opened(text) { name, _ in known[name] ?? LateText.optional(name) }
    }

    /// Replaces `{{.NAME}}` by the values of `vars`.
    private mutating func filled(_ text: String, _ tables: [YAMLNode?], _ line: Int, _ name: String) -> String {
        var result = text
        for (key, _, value) in tables.compactMap(\.self).flatMap(\.pairs).reversed() {
            for form in ["{{.\(key)}}", "{{ .\(key) }}"] { result = result.replacing(form, with: value.text ?? "") }
        }
        if result.contains("{{") { note(name, "command", line, "a template that isn't a name of `vars` isn't filled in") }
        return result
    }
}
