import DaemonConfiguration

/// The reading of `circus.ini`.
struct CircusImport {
    private typealias Section = SectionedFile.Section

    private let source: ImportSource
    private let sections: [Section]
    private var imported = ImportedChildren()

    init(_ source: ImportSource) throws(ConfigurationError) {
        self.source = source
        sections = try SectionedFile(source, inlineComments: [";", "#"]).sections
    }

    /// Returns the watchers in the order of their priority.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        for section in sections {
            switch section.kind {
            case "watcher": reading.watcher(section)
            case "socket", "env": break
            case "circus":
                reading.imported.note(section.file, section.line, section.title, "the daemon has options and a control socket of its own")
            default: reading.imported.note(section.file, section.line, section.title, "not carried over")
            }
        }
        return reading.imported
    }

    private static let silent: Set<String> = [
        "cmd", "args", "shell", "working_dir", "numprocesses", "copy_env", "copy_path", "uid", "gid", "priority", "autostart", "singleton",
        "respawn",
        "graceful_timeout", "stop_signal", "stop_children", "max_retry", "max_age", "max_age_variance", "use_sockets", "send_hup",
        "warmup_delay",
        "stdout_stream.class", "stdout_stream.filename", "stdout_stream.max_bytes", "stdout_stream.backup_count", "stderr_stream.class",
        "stderr_stream.filename", "virtualenv", "close_child_stdin", "close_child_stdout", "close_child_stderr",
    ]

    private mutating func watcher(_ section: Section) {
        for key in section.keys where !Self.silent.contains(key) && !key.hasPrefix("rlimit_") { note(section, key, "not carried over") }
        let environment = environment(of: section.name)
        var child = ImportedChildren.Child(key: ImportedChildren.key(section.name))
        let value = { (key: String) in section.entries[key]?.value }
        // The highest priority is started first.
        child.rank = -(ImportedChildren.number(value("priority")) ?? 0)
        let usesSockets = Self.isTrue(value("use_sockets"))
        let line = [value("cmd"), value("args")].compactMap(\.self).joined(separator: " ")
        let expanded = expanded(line, section, environment, usesSockets)
        guard let words = Self.isTrue(value("shell")) ? ["sh", "-c", expanded] : CommandWords.split(expanded), !words.isEmpty else {
            return note(section, "cmd", "the watcher isn't carried over: there is no command, or a quote in it isn't closed")
        }
        child.program.append(("command", .words(words)))
        if !environment.isEmpty { child.program.append(("environment", .variables(environment))) }
        if !Self.isTrue(value("copy_env")) { child.program.append(("inherit_environment", .word("false"))) }
        if let directory = value("working_dir") { child.program.append(("directory", .text(directory))) }
        if let user = value("uid") { child.program.append(("user", .text(user))) }
        if let group = value("gid") { child.program.append(("group", .text(group))) }
        if usesSockets { addSockets(to: &child) }
        addLimits(section, to: &child)
        if let age = Int(value("max_age") ?? ""), age > 0 { child.program.append(("recycle", .mapping([("after", .word("\(age)s"))]))) }
        if let signal = value("stop_signal"), !["TERM", "SIGTERM", "15"].contains(signal.uppercased()) {
            child.program.append(("stop_signal", .word(signal.uppercased().replacing("SIG", with: ""))))
        }
        if let count = Int(value("numprocesses") ?? ""), count != 1 {
            child.settings.append(("instances", .word(String(max(0, min(count, 1_000))))))
        }
        if Self.isFalse(value("autostart")) { child.settings.append(("autostart", .word("false"))) }
        if Self.isFalse(value("respawn")) { child.settings.append(("restart", .word("temporary"))) }
        let grace = Double(value("graceful_timeout") ?? "").flatMap { $0.isNaN ? nil : $0 } ?? 30
        child.settings.append(("shutdown", .word("\(Int(max(0, min(grace, 86_400)) * 1_000))ms")))
        if let retries = Int(value("max_retry") ?? "") {
            child.settings.append(("restart_limits", .mapping([("intensity", .word(retries < 0 ? "unlimited" : String(retries)))])))
        }
        addLogging(section, to: &child)
        noteRest(section)
        imported.children.append(child)
    }

    private mutating func noteRest(_ section: Section) {
        let meanings = [
            "warmup_delay": "instances are started without a delay", "virtualenv": "name the environment's own interpreter in `command`",
            "stop_children": "the signal goes to the first process; the rest of the group is killed when that has ended",
            "send_hup": "a changed child is restarted; `coordinatorctl signal PATH HUP` sends the signal",
            "max_age_variance": "the age varies by a tenth",
        ]
        for key in section.keys {
            guard let meaning = meanings[key], !Self.isFalse(section.entries[key]?.value), section.entries[key]?.value != "0" else {
                continue
            }
            note(section, key, meaning)
        }
    }

    private mutating func addSockets(to child: inout ImportedChildren.Child) {
        var sockets: [ImportedValue] = []
        for section in sections where section.kind == "socket" {
            let value = { (key: String) in section.entries[key]?.value }
            var address = value("path")
            if address == nil, let port = value("port") {
                let host = value("host") ?? "127.0.0.1"
                address =
                    "\(host == "0.0.0.0" ? "0.0.0.0" : host == "localhost" ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host):\(port)"
            }
            guard let address else { note(section, "", "not carried over: it has neither a port nor a path"); continue }
            sockets.append(.mapping([("name", .text(section.name)), ("listen", .text(address))]))
        }
        if !sockets.isEmpty { child.program.append(("sockets", .list(sockets))) }
    }

    private mutating func addLimits(_ section: Section, to child: inout ImportedChildren.Child) {
        let names = [
            "nofile": "open_files", "nproc": "processes", "core": "core", "as": "address_space", "data": "data", "stack": "stack",
            "fsize": "file_size",
            "memlock": "locked_memory", "cpu": "cpu_time",
        ]
        var limits: [(String, ImportedValue)] = []
        for key in section.keys where key.hasPrefix("rlimit_") {
            guard let name = names[String(key.dropFirst(7))], let limit = section.entries[key]?.value, let number = Int(limit) else {
                note(section, key, "not carried over")
                continue
            }
            limits.append((name, .word(number < 0 ? "unlimited" : String(number))))
        }
        if !limits.isEmpty { child.program.append(("limits", .mapping(limits))) }
    }

    private mutating func addLogging(_ section: Section, to child: inout ImportedChildren.Child) {
        var logging: [(String, ImportedValue)] = []
        switch section.entries["stdout_stream.class"]?.value {
        case nil: break
        case "FileStream"?, "TimedRotatingFileStream"?, "WatchedFileStream"?:
            if let file = section.entries["stdout_stream.filename"]?.value { logging.append(("file", .text(file))) }
            if let bytes = section.entries["stdout_stream.max_bytes"].flatMap({ Int($0.value) }) {
                logging.append(("maximum_size", .word(bytes > 0 ? "\(max(16, bytes / 1_024))KiB" : "0")))
            }
            if let count = section.entries["stdout_stream.backup_count"].flatMap({ Int($0.value) }) {
                logging.append(("keep", .word(String(min(count, 99)))))
            }
        case "StdoutStream"?, "FancyStdoutStream"?: logging.append(("to_daemon", .word("true")))
        case let other?: note(section, "stdout_stream.class", "\(other) isn't carried over")
        }
        if let file = section.entries["stderr_stream.filename"]?.value, file != section.entries["stdout_stream.filename"]?.value {
            logging.append(("standard_error", .word("separate")))
            note(section, "stderr_stream.filename", "both streams are in one file, and each line tells its stream")
        }
        if !logging.isEmpty { child.settings.append(("logging", .mapping(logging))) }
    }

    // MARK: Values

    /// Returns the variables of the sections `[env]` and `[env:a,b*]` that hold for a watcher.
    private func environment(of watcher: String) -> [String: String] {
        var variables: [String: String] = [:]
        for section in sections where section.kind == "env" {
            let patterns = section.name.split(separator: ",").map { SectionedFile.trimmed($0) }
            let holds = patterns.isEmpty || patterns.contains { $0 == watcher || ($0.hasSuffix("*") && watcher.hasPrefix($0.dropLast())) }
            guard holds else { continue }
            // The parser makes names small, and those of variables are large as a rule.
            for key in section.keys { variables[key.uppercased()] = section.entries[key]?.value }
        }
        return variables
    }

    /// Replaces `$(circus.…)` and `((circus.…))`.
    private mutating func expanded(_ text: String, _ section: Section, _ environment: [String: String], _ usesSockets: Bool) -> String {
        let sockets = sections.filter { $0.kind == "socket" }.map(\.name)
        var result = text
        for (open, close) in [("$(circus.", ")"), ("((circus.", "))")] {
            while let start = result.firstRange(of: open), let end = result[start.upperBound...].firstRange(of: close) {
                let name = String(result[start.upperBound..<end.lowerBound])
                result.replaceSubrange(
                    start.lowerBound..<end.upperBound,
                    with: replacement(name, section, environment, usesSockets ? sockets : [])
                )
            }
        }
        return result
    }

    private mutating func replacement(_ name: String, _ section: Section, _ environment: [String: String], _ sockets: [String]) -> String {
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        switch (parts.first, parts.count == 2 ? parts[1] : "") {
        case ("sockets"?, let socket):
            if let index = sockets.firstIndex(where: { $0.lowercased() == socket.lowercased() }) { return String(3 + index) }
        case ("env"?, let variable):
            if let value = environment[variable.uppercased()] ?? source.environment[variable] ?? source.environment[variable.uppercased()] {
                return value
            }
        default: break
        }
        note(section, "cmd", "$(circus.\(name)) isn't known here, and was left out")
        return ""
    }

    private mutating func note(_ section: Section, _ key: String, _ message: String) {
        let subject = key.isEmpty ? section.title : "\(section.title) \(key)"
        imported.note(section.file, section.entries[key]?.line ?? section.line, subject, message)
    }

    private static func isTrue(_ value: String?) -> Bool { ["true", "yes", "on", "1"].contains(value?.lowercased() ?? "") }

    private static func isFalse(_ value: String?) -> Bool { ["false", "no", "off", "0"].contains(value?.lowercased() ?? "") }
}
