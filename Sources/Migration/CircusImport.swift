import DaemonConfiguration

/// The reading of `circus.ini`.
struct CircusImport {
    private typealias Section = SectionedFile.Section

    private let source: ImportSource
    private var sections: [Section]
    private var imported = ImportedChildren()

    init(_ source: ImportSource) throws(ConfigurationError) {
        self.source = source
        sections = try Self.sections(of: source)
        for section in sections where section.kind == "circus" {
            let entry = { (key: String) in section.entries[key]?.value.split(whereSeparator: \.isWhitespace).map(String.init) ?? [] }
            let patterns = entry("include").map { ("include", $0) } + entry("include_dir").map { ("include_dir", "\($0)/*.ini") }
            for (key, pattern) in patterns {
                let files = source.files(matching: pattern)
                if files.isEmpty {
                    imported.note(
                        section.file,
                        section.entries[key]?.line ?? section.line,
                        "\(section.title) \(key)",
                        "no file matches \(pattern)"
                    )
                }
                for file in files { sections += try Self.sections(of: ImportSource(path: file, environment: source.environment)) }
            }
        }
        sections = SectionedFile.merged(sections)
    }

    private static func sections(of source: ImportSource) throws(ConfigurationError) -> [Section] {
        try SectionedFile(source, inlineComments: [";", "#"], keepsCase: true).sections
    }

    /// Returns the watchers in the order of their priority.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        for section in sections {
            reading.noteKeys(section)
            if section.kind == "watcher" { reading.watcher(section) }
        }
        return reading.imported
    }

    /// Says what isn't carried over, by the table of keys.
    private mutating func noteKeys(_ section: Section) {
        guard let table = ForeignKeys.table(section.kind, of: .circus) else {
            return imported.note(section.file, section.line, section.title, "not carried over")
        }
        for key in section.keys {
            guard let message = table.fate(of: key).message else { continue }
            let value = section.entries[key]?.value
            if Truth.isFalse(value), key != "close_child_stdin" { continue }
            if key == "close_child_stdin", Truth.isTrue(value) { continue }
            if key == "max_retry", value == "-1" { continue }
            note(section, key, message)
        }
    }

    private mutating func watcher(_ section: Section) {
        let inherits = Truth.isTrue(section.entries["copy_env"]?.value)
        let environment = environment(of: section.name, section, inherits: inherits)
        var child = ImportedChildren.Child(key: section.name)
        (child.file, child.line) = (section.file, section.line)
        let value = { (key: String) in section.entries[key]?.value }
        // The highest priority is started first.
        child.rank = -(ImportedChildren.number(value("priority")) ?? 0)
        child.isRanked = value("priority") != nil
        let usesSockets = Truth.isTrue(value("use_sockets"))
        let line = [value("cmd"), value("args")].compactMap(\.self).joined(separator: " ")
        let expanded = expanded(line, section, key: "cmd", environment, usesSockets || value("stdin_socket") != nil)
        guard let words = Truth.isTrue(value("shell")) ? ["sh", "-c", expanded] : CommandWords.split(expanded), !words.isEmpty else {
            return note(section, "cmd", "the watcher isn't carried over: there is no command, or a quote in it isn't closed")
        }
        child.command = words
        if let executable = value("executable") {
            // The first word of the command is then only a name.
            child.command[0] = self.expanded(executable, section, key: "executable", environment, false)
        }
        child.environment = environment
        if let directory = value("virtualenv") {
            child.environment["VIRTUAL_ENV"] = directory
            child.environment["PATH"] = "\(directory)/bin:" + (environment["PATH"] ?? LateText.variable("PATH"))
        }
        let closed = [("close_child_stdout", ">/dev/null"), ("close_child_stderr", "2>/dev/null")].filter { Truth.isTrue(value($0.0)) }
        if !closed.isEmpty { child.redirection = closed.map(\.1).joined(separator: " ") }
        if !inherits { child.give("inherit_environment", .word("false")) }
        for (key, ours) in [("working_dir", "directory"), ("uid", "user"), ("gid", "group")] {
            if let text = value(key) { child.give(ours, .text(self.expanded(text, section, key: key, environment, false))) }
        }
        if let umask = sections.first(where: { $0.kind == "circus" })?.entries["umask"]?.value { child.give("umask", .word(umask)) }
        if usesSockets || value("stdin_socket") != nil { addSockets(section, to: &child) }
        addLimits(section, to: &child)
        if let age = Int(value("max_age") ?? ""), age > 0 { child.give("recycle", .mapping([("after", .word("\(age)s"))])) }
        if let count = Int(value("numprocesses") ?? ""), count != 1 { child.put("instances", .word(String(max(0, min(count, 1_000))))) }
        if Truth.isFalse(value("autostart")) { child.put("autostart", .word("false")) }
        if Truth.isFalse(value("respawn")) { child.put("restart", .word("never")) }
        addStop(section, to: &child)
        // Circus restarts for ever what ends; its limit is about programs that can't be executed at all.
        child.limit(nil)
        addLogging(section, to: &child)
        imported.children.append(child)
    }

    private mutating func addStop(_ section: Section, to child: inout ImportedChildren.Child) {
        if let text = section.entries["stop_signal"]?.value, let problem = child.stop(by: text) { note(section, "stop_signal", problem) }
        let grace = Double(section.entries["graceful_timeout"]?.value ?? "").flatMap { $0.isNaN ? nil : $0 } ?? 30
        child.put("stop_timeout", .word("\(Int(max(0, min(grace, 86_400)) * 1_000))ms"))
        if Truth.isTrue(section.entries["stop_children"]?.value), !child.give("stop_group", .word("true")) {
            note(section, "stop_children", "the signal goes to the first process; the rest of the group is killed when that has ended")
        }
    }

    private mutating func addSockets(_ watcher: Section, to child: inout ImportedChildren.Child) {
        var sockets: [ImportedValue] = []
        for section in sections where section.kind == "socket" {
            let value = { (key: String) in section.entries[key]?.value }
            var address = value("path")
            if address == nil, let port = value("port") {
                let host = value("host") ?? "127.0.0.1"
                address = "\(host == "localhost" ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host):\(port)"
            }
            guard let address else { note(section, "", "not carried over: it has neither a port nor a path"); continue }
            var socket: [(String, ImportedValue)] = [("name", .text(section.name)), ("listen", .text(address))]
            if value("path") != nil, let umask = value("umask").flatMap({ Int($0, radix: 8) }) {
                let mode = String(0o777 & ~umask, radix: 8)
                socket.append(("mode", .word(String(repeating: "0", count: max(0, 4 - mode.count)) + mode)))
            }
            sockets.append(.mapping(socket))
        }
        if !sockets.isEmpty { child.give("sockets", .list(sockets)) }
        guard let name = watcher.entries["stdin_socket"]?.value else { return }
        let names = sections.filter { $0.kind == "socket" }.map { $0.name.lowercased() }
        if let index = names.firstIndex(of: name.lowercased()) {
            child.redirection = [child.redirection, "0<&\(3 + index)"].compactMap(\.self).joined(separator: " ")
        } else {
            note(watcher, "stdin_socket", "there is no socket `\(name)`")
        }
    }

    private mutating func addLimits(_ section: Section, to child: inout ImportedChildren.Child) {
        let names = [
            "nofile": "nofile", "nproc": "nproc", "core": "core", "as": "as", "data": "data", "stack": "stack",
            "fsize": "fsize", "memlock": "memlock", "cpu": "cpu",
        ]
        var limits: [(String, ImportedValue)] = []
        for key in section.keys where key.hasPrefix("rlimit_") {
            guard let name = names[String(key.dropFirst(7)).lowercased()], let limit = section.entries[key]?.value,
                let number = limit.isEmpty ? -1 : Int(limit)
            else {
                note(section, key, "not carried over: there is no such limit in `limits`")
                continue
            }
            limits.append((name, .word(number < 0 ? "unlimited" : String(number))))
        }
        if !limits.isEmpty { child.give("limits", .mapping(limits)) }
    }

    private mutating func addLogging(_ section: Section, to child: inout ImportedChildren.Child) {
        let value = { (key: String) in section.entries["stdout_stream.\(key)"]?.value }
        let kind = (value("class") ?? "FileStream").split(separator: ".").last.map(String.init) ?? ""
        switch kind {
        case "FileStream", "TimedRotatingFileStream", "WatchedFileStream":
            guard let file = value("filename") else { break }
            child.log("file", .text(file))
            if !child.log("format", .word("raw"), taking: "raw") {
                note(section, "stdout_stream.filename", "each line begins with its time and its stream")
            }
            child.log("mode", .word("0644"))
            // Circus doesn't rotate by itself.
            let bytes = value("max_bytes").flatMap { Int($0) } ?? 0
            if bytes > 0, bytes < 16 << 10 { note(section, "stdout_stream.max_bytes", "files are rotated at 16 KiB at least") }
            child.log("maximum_size", .logSize(bytes))
            if let count = value("backup_count").flatMap({ Int($0) }) { child.log("keep", .word(String(max(0, min(count, 99))))) }
        case "StdoutStream", "FancyStdoutStream":
            if !child.log("to_daemon", .word("raw"), taking: "raw") { child.log("to_daemon", .word("true")) }
        default: note(section, "stdout_stream.class", "\(kind) isn't carried over")
        }
        if let file = section.entries["stderr_stream.filename"]?.value, file != value("filename") {
            child.log("standard_error", .word("separate"))
        }
    }

    // MARK: Values

    /// Returns the variables of the sections `[env]` and `[env:a,b*]` that hold for a watcher.
    private mutating func environment(of watcher: String, _ watched: Section, inherits: Bool) -> [String: String] {
        var variables: [String: String] = [:]
        for section in sections where section.kind == "env" {
            let patterns = section.name.split(separator: ",").map { SectionedFile.trimmed($0) }
            let holds = patterns.isEmpty || patterns.contains { $0 == watcher || ($0.hasSuffix("*") && watcher.hasPrefix($0.dropLast())) }
            guard holds else { continue }
            for key in section.keys {
                // `$PATH:/more` is what there was before, as in a shell.
                variables[key] = (section.entries[key]?.value).map { resolved($0, variables) }
            }
        }
        // A program that gets none of the daemon's variables can't complete its own by them.
        for (name, text) in variables where !inherits && LateText.isLate(text) {
            variables[name] = source.environment.reduce(text) { $0.replacing(LateText.variable($1.key), with: $1.value) }
            note(watched, "", "the variable \(name) has a part of this import's environment, and the file keeps that")
        }
        return variables
    }

    /// Replaces `$(circus.env.NAME)` in the value of a variable.
    private func resolved(_ text: String, _ variables: [String: String]) -> String {
        var result = text
        for (open, close) in [("$(circus.env.", ")"), ("((circus.env.", "))")] {
            while let start = result.firstRange(of: open), let end = result[start.upperBound...].firstRange(of: close) {
                let name = String(result[start.upperBound..<end.lowerBound])
                let found = variables.first { $0.key.lowercased() == name.lowercased() }?.value
                let late = source.environment.keys.first { $0.lowercased() == name.lowercased() } ?? name.uppercased()
                result.replaceSubrange(
                    start.lowerBound..<end.upperBound,
                    with: found ?? (LateText.isName(late) ? LateText.variable(late) : "")
                )
            }
        }
        return result
    }

    /// Replaces `$(circus.…)` and `((circus.…))`.
    private mutating func expanded(
        _ text: String,
        _ section: Section,
        key: String,
        _ environment: [String: String],
        _ usesSockets: Bool
    ) -> String {
        let sockets = usesSockets ? sections.filter { $0.kind == "socket" }.map(\.name) : []
        var result = text
        for (open, close) in [("$(circus.", ")"), ("((circus.", "))")] {
            while let start = result.firstRange(of: open), let end = result[start.upperBound...].firstRange(of: close) {
                let name = String(result[start.upperBound..<end.lowerBound])
                result.replaceSubrange(start.lowerBound..<end.upperBound, with: replacement(name, section, key, environment, sockets))
            }
        }
        return result
    }

    private mutating func replacement(
        _ name: String,
        _ section: Section,
        _ key: String,
        _ environment: [String: String],
        _ sockets: [String]
    ) -> String {
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        // Names are compared without their case.
        switch (parts.first?.lowercased(), (parts.count == 2 ? parts[1] : "").lowercased()) {
        case ("sockets"?, let socket):
            if let index = sockets.firstIndex(where: { $0.lowercased() == socket }) { return String(3 + index) }
        case ("wid"?, _) where key == "cmd" && KnownKeys.numbersInstances:
            return LateText.instance(from: 1, width: 0)
        case ("env"?, let variable):
            if let value = environment.first(where: { $0.key.lowercased() == variable })?.value { return value }
            guard let given = source.environment.first(where: { $0.key.lowercased() == variable }) else { break }
            if key == "cmd", Truth.isTrue(section.entries["copy_env"]?.value), LateText.isName(given.key) {
                return LateText.variable(given.key)
            }
            note(section, key, "the variable \(given.key) is \(given.value) at this import, and the file keeps that")
            return given.value
        default: break
        }
        note(section, key, "$(circus.\(name)) isn't known here, and was left out")
        return ""
    }

    private mutating func note(_ section: Section, _ key: String, _ message: String) {
        let subject = key.isEmpty ? section.title : "\(section.title) \(key)"
        imported.note(section.file, section.entries[key]?.line ?? section.line, subject, message)
    }
}
