import DaemonConfiguration
import Glibc

/// The reading of `supervisord.conf`.
struct SupervisordImport {
    private typealias Section = SectionedFile.Section

    private let source: ImportSource
    private var sections: [Section] = []
    private var imported = ImportedChildren()
    /// The variables of the whole file, which programs may refer to.
    private var shared: [String: String] = [:]

    init(_ source: ImportSource) throws(ConfigurationError) {
        self.source = source
        sections = try Self.sections(of: source)
        for section in sections where section.kind == "include" {
            guard let entry = section.entries["files"] else { continue }
            let patterns = expanded(entry.value, entry, section, key: "files", [:], number: .none)
            for pattern in frozen(patterns, entry, section, "files").split(whereSeparator: \.isWhitespace).map(String.init) {
                let files = source.files(matching: pattern)
                if files.isEmpty { imported.note(section.file, entry.line, section.title, "no file matches \(pattern)") }
                for file in files {
                    sections += try Self.sections(of: ImportSource(path: file, environment: source.environment))
                }
            }
        }
        sections = SectionedFile.merged(sections)
    }

    private static func sections(of source: ImportSource) throws(ConfigurationError) -> [Section] {
        try SectionedFile(source, inlineComments: [";", "#"]).sections
    }

    /// Returns the programs in the order of their priority.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        try reading.read()
        return reading.imported
    }

    private mutating func read() throws(ConfigurationError) {
        let daemon = sections.first { $0.kind == "supervisord" }
        if let daemon, let entry = daemon.entries["environment"] {
            let text = expanded(entry.value, entry, daemon, key: "environment", [:], number: .none)
            if let variables = SectionedFile.variables(text) {
                shared = variables
            } else {
                note(daemon, "environment", "can't be read; not carried over")
            }
        }
        var members: [String: Int] = [:]
        for section in sections where section.kind == "group" {
            let priority = section.entries["priority"]?.value
            for name in (section.entries["programs"]?.value ?? "").split(separator: ",").map({ SectionedFile.trimmed($0) }) {
                guard sections.contains(where: { ["program", "fcgi-program"].contains($0.kind) && $0.name == name }) else {
                    throw failure(
                        section,
                        "programs",
                        "the group names `\(name)`, which is no program of the file; expected one of its programs"
                    )
                }
                members[name] = imported.groups.count
            }
            imported.groups.append(
                .init(key: ImportedChildren.key(section.name), rank: ImportedChildren.number(priority) ?? 999, isRanked: priority != nil)
            )
            imported.note(
                section.file,
                section.line,
                section.title,
                "its programs have the paths /\(ImportedChildren.key(section.name))/NAME now"
            )
        }
        for section in sections {
            noteKeys(section)
            guard ["program", "fcgi-program"].contains(section.kind) else { continue }
            for child in program(section, daemon) {
                if let group = members[section.name] {
                    imported.groups[group].children.append(child)
                } else {
                    imported.children.append(child)
                }
            }
        }
    }

    /// Says what isn't carried over, by the table of keys.
    private mutating func noteKeys(_ section: Section) {
        guard let table = ForeignKeys.table(section.kind, of: .supervisord) else {
            return imported.note(section.file, section.line, section.title, "an unknown section, which isn't carried over")
        }
        for key in section.keys {
            guard let message = table.fate(of: key).message else { continue }
            // The program's own name, with a number where it has several processes, is what it's called without the key.
            if key == "process_name", section.entries[key]?.value.hasPrefix("%(program_name)s") == true { continue }
            if key == "killasgroup", !Truth.isFalse(section.entries[key]?.value) { continue }
            note(section, key, message)
        }
    }

    // MARK: Programs

    /// The number of a process in what is read.
    private enum Number: Equatable {
        case none
        /// A number that is known.
        case fixed(Int)
        /// The number of an instance, counted from this one.
        case instance(from: Int)
    }

    private mutating func program(_ section: Section, _ daemon: Section?) -> [ImportedChildren.Child] {
        let count = integer(section, "numprocs") ?? 1
        let first = integer(section, "numprocs_start") ?? 0
        let numbered = Set(section.entries.filter { $0.value.value.contains("%(process_num)") }.keys).subtracting(["process_name"])
        guard count > 1, !numbered.isEmpty else {
            guard var child = child(section, daemon, .fixed(first)) else { return [] }
            if count != 1 { child.put("instances", .word(String(max(0, min(count, 1_000))))) }
            return [child]
        }
        // What a shell can complete at the start, and names of files, which have a number of their own.
        let late: Set<String> = ["command", "environment", "stdout_logfile", "stderr_logfile"]
        if KnownKeys.numbersInstances, numbered.isSubset(of: late) {
            guard var child = child(section, daemon, .instance(from: first)) else { return [] }
            child.put("instances", .word(String(min(count, 1_000))))
            return [child]
        }
        note(section, "numprocs", "each process has a child of its own, because its number is in its settings")
        let notes = imported.notes
        return (first..<first + min(count, 1_000)).compactMap { number in
            // The notes are the same for all of them.
            if number > first { imported.notes = notes }
            guard var child = child(section, daemon, .fixed(number)) else { return nil }
            child.key += "-\(number)"
            return child
        }
    }

    private mutating func child(_ section: Section, _ daemon: Section?, _ number: Number) -> ImportedChildren.Child? {
        var child = ImportedChildren.Child(key: section.name)
        (child.file, child.line) = (section.file, section.line)
        child.rank = integer(section, "priority") ?? 999
        child.isRanked = section.entries["priority"] != nil
        var environment = shared
        if let entry = section.entries["environment"] {
            let text = expanded(entry.value, entry, section, key: "environment", shared, number: number)
            if let own = SectionedFile.variables(text) {
                environment.merge(own) { $1 }
            } else {
                note(section, "environment", "can't be read; not carried over")
            }
        }
        let commandText = section.entries["command"].map { expanded($0.value, $0, section, key: "command", environment, number: number) }
        guard let command = commandText.flatMap({ CommandWords.split($0) }), !command.isEmpty else {
            note(section, "command", "the program isn't carried over: its `command` is missing, or a quote in it isn't closed")
            return nil
        }
        child.command = command
        child.environment = environment
        let value = { (key: String, entry: SectionedFile.Entry?, reading: inout Self) -> String? in
            guard let entry else { return nil }
            return reading.frozen(reading.expanded(entry.value, entry, section, key: key, environment, number: number), entry, section, key)
        }
        for (key, ours) in [("directory", "directory"), ("user", "user")] {
            let inherited = key == "user" ? daemon?.entries[key] : nil
            if let text = value(key, section.entries[key] ?? inherited, &self), !text.isEmpty { child.give(ours, .text(text)) }
        }
        // A daemon in the foreground leaves its own as it is.
        let inherited = Truth.isTrue(daemon?.entries["nodaemon"]?.value) ? nil : daemon?.entries["umask"]
        if let umask = value("umask", section.entries["umask"] ?? inherited, &self) { child.give("umask", .word(umask)) }
        child.give("stdin", .word("open"))
        addStart(section, to: &child)
        addStop(section, to: &child)
        addLogging(section, environment, number, to: &child)
        if section.kind == "fcgi-program" { addSocket(section, to: &child) }
        return child
    }

    private mutating func addStart(_ section: Section, to child: inout ImportedChildren.Child) {
        let text = { (key: String) in section.entries[key]?.value }
        let seconds = max(0, integer(section, "startsecs") ?? 1)
        let retries = max(0, integer(section, "startretries") ?? 3)
        // Without the key there would be a shortest life of a second.
        child.give("start_seconds", .word("\(seconds)s"))
        if Truth.isFalse(text("autostart")) { child.put("autostart", .word("false")) }
        let codes = (text("exitcodes") ?? "0").split(separator: ",").compactMap { Int(SectionedFile.trimmed($0)) }
        switch text("autorestart")?.lowercased() {
        case "unexpected", nil:
            if codes.contains(0) {
                child.put("restart", .word("on_failure"))
                let others = codes.filter { $0 != 0 && (0...255).contains($0) }
                if !others.isEmpty { child.give("exit_codes", .list(others.map { .word(String($0)) })) }
            } else if !child.give("final_exit_codes", .list(codes.filter { (0...255).contains($0) }.map { .word(String($0)) })) {
                // Zero is expected always here; to stay down after it would be worse than to go on after the others.
                note(
                    section,
                    "exitcodes",
                    "0 isn't among them, so the program is always restarted, also after \(codes.map(String.init).joined(separator: ", "))"
                )
            }
        case let value where Truth.isFalse(value):
            child.put("restart", .word("never"))
            if seconds > 0, retries > 0 {
                note(section, "autorestart", "supervisord tries a start that fails again, as `startretries` says; `restart: never` doesn't")
            }
        default: break
        }
        child.limit(retries, first: 1_000, start: seconds * 1_000, counts: "failed_starts")
    }

    private mutating func addStop(_ section: Section, to child: inout ImportedChildren.Child) {
        if let text = section.entries["stopsignal"]?.value, let problem = child.stop(by: text) { note(section, "stopsignal", problem) }
        child.put("stop_timeout", .word("\(max(0, integer(section, "stopwaitsecs") ?? 10))s"))
        if Truth.isTrue(section.entries["stopasgroup"]?.value), !child.give("stop_group", .word("true")) {
            note(section, "stopasgroup", "the signal goes to the first process; the rest of the group is killed when that has ended")
        }
    }

    private mutating func addLogging(
        _ section: Section,
        _ environment: [String: String],
        _ number: Number,
        to child: inout ImportedChildren.Child
    ) {
        var file = section.entries["stdout_logfile"].map {
            expanded($0.value, $0, section, key: "stdout_logfile", environment, number: number)
        }
        if let text = file, LateText.isLate(text), case .instance = number {
            // Each instance has a file of its own anyway: the number goes before the name's last part.
            file = Self.withoutInstance(section.entries["stdout_logfile"]?.value ?? "")
            if let plain = file, let entry = section.entries["stdout_logfile"] {
                file = expanded(plain, entry, section, key: "stdout_logfile", environment, number: number)
            }
            note(section, "stdout_logfile", "the files have the instances' own numbers, from 1: `NAME-1.log`")
        }
        if let text = file, let entry = section.entries["stdout_logfile"] { file = frozen(text, entry, section, "stdout_logfile") }
        switch file {
        case nil, "AUTO"?: break
        case let file? where ["/dev/stdout", "/dev/fd/1", "/dev/stderr", "/dev/fd/2"].contains(file):
            if !child.log("to_daemon", .word("raw"), taking: "raw") {
                child.log("to_daemon", .word("true"))
                note(section, "stdout_logfile", "the daemon writes the lines to its standard error, with the child's path before each")
            }
        case let file? where Self.discards(file):
            child.log("file", .word("none"))
            addDiscarded(section, to: &child)
        case "syslog"?: note(section, "stdout_logfile", "no syslog: the daemon's standard error goes to the journal")
        case let file?:
            child.log("file", .text(file))
            // What reads the file knows lines as the program writes them, and may be another user's.
            if !child.log("format", .word("raw"), taking: "raw") {
                note(section, "stdout_logfile", "each line begins with its time and its stream")
            }
            child.log("mode", .word("0644"))
        }
        // The defaults of Supervisor are 50 MB and ten files.
        for (key, fallback) in [("stdout_logfile_maxbytes", "50MB"), ("stdout_logfile_backups", "10")] {
            guard let text = section.entries[key]?.value ?? (file == nil ? nil : fallback) else { continue }
            if key.hasSuffix("backups") {
                let count = ImportedChildren.number(text) ?? 10
                if count > 99 { note(section, key, "at most 99 former files are kept") }
                child.log("keep", .word(String(max(0, min(count, 99)))))
            } else if let bytes = Self.size(text) {
                if bytes > 0, bytes < 16 << 10 { note(section, key, "files are rotated at 16 KiB at least") }
                child.log("maximum_size", .logSize(bytes))
            } else {
                note(section, key, "`\(text)` isn't a size; not carried over")
            }
        }
        if Truth.isTrue(section.entries["redirect_stderr"]?.value) {
            child.log("standard_error", .word("together"))
        } else {
            child.log("standard_error", .word("separate"))
        }
    }

    /// Whether a file of output keeps nothing.
    private static func discards(_ file: String) -> Bool { file.uppercased() == "NONE" || file == "/dev/null" }

    /// Keeps the output that the file discards from the daemon's own, unless the errors of the program are in a file there.
    private mutating func addDiscarded(_ section: Section, to child: inout ImportedChildren.Child) {
        if !Truth.isTrue(section.entries["redirect_stderr"]?.value) {
            let errors = section.entries["stderr_logfile"]?.value ?? "AUTO"
            let isAutomatic = errors.uppercased() == "AUTO"
            guard isAutomatic || Self.discards(errors) else { return }
            if isAutomatic {
                note(section, "stdout_logfile", "standard error is discarded too: without `file` and `to_daemon` both streams are kept")
            }
        }
        child.log("to_daemon", .word("false"))
    }

    /// Takes a process's number out of a file's name, with what separates it.
    private static func withoutInstance(_ path: String) -> String {
        var result = path
        while let start = result.firstRange(of: "%(process_num)") {
            let form = result[start.upperBound...].prefix { $0.isNumber }
            let end = result.index(form.endIndex, offsetBy: form.endIndex < result.endIndex ? 1 : 0)
            var begin = start.lowerBound
            if begin > result.startIndex, "-_.".contains(result[result.index(before: begin)]) { begin = result.index(before: begin) }
            result.removeSubrange(begin..<end)
        }
        return result
    }

    /// A FastCGI program finds its socket as standard input.
    private mutating func addSocket(_ section: Section, to child: inout ImportedChildren.Child) {
        let text = section.entries["socket"]?.value ?? ""
        var socket: [(String, ImportedValue)] = [("name", .text("fcgi"))]
        if text.hasPrefix("unix://") {
            socket.append(("listen", .text(String(text.dropFirst(7)).replacing("%(here)s", with: source.directory))))
            if let mode = section.entries["socket_mode"]?.value { socket.append(("mode", .word(mode.count == 3 ? "0\(mode)" : mode))) }
        } else if text.hasPrefix("tcp://"), let colon = text.lastIndex(of: ":") {
            let host = text[..<colon].dropFirst(6)
            socket.append(("listen", .text("\(host == "localhost" ? "127.0.0.1" : host.isEmpty ? "*" : String(host))\(text[colon...])")))
        } else {
            return note(section, "socket", "can't be read; the program gets no socket")
        }
        child.give("sockets", .list([.mapping(socket)]))
        child.redirection = "0<&3"
    }

    // MARK: Values

    private func failure(_ section: Section, _ key: String, _ message: String) -> ConfigurationError {
        ConfigurationError(
            problems: [.init(file: section.file, line: section.entries[key]?.line ?? section.line, column: 1, message: message)]
        )
    }

    private mutating func note(_ section: Section, _ key: String, _ message: String) {
        imported.note(section.file, section.entries[key]?.line ?? section.line, "\(section.title) \(key)", message)
    }

    /// Reads a number, which may be a variable's.
    private mutating func integer(_ section: Section, _ key: String) -> Int? {
        guard let entry = section.entries[key] else { return nil }
        let text = frozen(expanded(entry.value, entry, section, key: key, shared, number: .none), entry, section, key)
        if let number = ImportedChildren.number(text) { return number }
        note(section, key, text.isEmpty ? "has no value here; not carried over" : "`\(text)` isn't a whole number; not carried over")
        return nil
    }

    private static func size(_ text: String) -> Int? {
        let upper = text.uppercased()
        for (suffix, factor) in [("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)] where upper.hasSuffix(suffix) {
            return Int(upper.dropLast(2)).flatMap { (0..<1 << 32).contains($0) ? $0 * factor : nil }
        }
        return Int(upper)
    }

    /// Replaces the late parts of a value that the daemon's file can't have open by what they are now.
    private mutating func frozen(_ text: String, _ entry: SectionedFile.Entry, _ section: Section, _ key: String) -> String {
        guard LateText.isLate(text) else { return text }
        var result = text
        for name in entry.value.split(separator: "%(ENV_", omittingEmptySubsequences: false).dropFirst().map({
            String($0.prefix { $0 != ")" })
        }) {
            let late = LateText.variable(name)
            guard result.contains(late) else { continue }
            let value = source.environment[name]
            result = result.replacing(late, with: value ?? "")
            imported.note(
                section.file,
                entry.line,
                "\(section.title) \(key)",
                value.map { "the variable \(name) is \($0) at this import, and the file keeps that" }
                    ?? "the variable \(name) isn't set at this import, and was left out"
            )
        }
        return result
    }

    /// Replaces `%(name)s` as Python does; variables of the daemon's stay open.
    private mutating func expanded(
        _ text: String,
        _ entry: SectionedFile.Entry,
        _ section: Section,
        key: String,
        _ variables: [String: String],
        number: Number
    ) -> String {
        var result = ""
        var rest = text[...]
        while let percent = rest.firstIndex(of: "%") {
            result += rest[..<percent]
            rest = rest[rest.index(after: percent)...]
            if rest.first == "%" {
                result += "%"
                rest = rest.dropFirst()
                continue
            }
            guard rest.first == "(", let end = rest.firstIndex(of: ")") else {
                result += "%"
                continue
            }
            let name = String(rest[rest.index(after: rest.startIndex)..<end])
            let form = rest[rest.index(after: end)...].prefix { $0.isNumber }
            rest = rest[rest.index(after: end)...].dropFirst(form.count + 1)
            result += value(of: name, form: String(form), entry, section, key, variables, number)
        }
        return result + rest
    }

    private mutating func value(
        of name: String,
        form: String,
        _ entry: SectionedFile.Entry,
        _ section: Section,
        _ key: String,
        _ variables: [String: String],
        _ number: Number
    ) -> String {
        let width = form.hasPrefix("0") ? Int(form).flatMap { $0 <= 20 ? $0 : nil } ?? 0 : 0
        switch name {
        case "here": return entry.directory
        case "program_name": return section.name
        case "group_name":
            let group = sections.first {
                $0.kind == "group"
                    && ($0.entries["programs"]?.value ?? "").split(separator: ",").contains { SectionedFile.trimmed($0) == section.name }
            }
            return group?.name ?? section.name
        case "numprocs" where key != "numprocs":
            return section.entries["numprocs"].map { expanded($0.value, $0, section, key: "numprocs", variables, number: .none) } ?? "1"
        case "process_num":
            switch number {
            case .none: return "0"
            case .instance(let first): return LateText.instance(from: first, width: width)
            case .fixed(let number):
                let digits = String(number)
                return String(repeating: "0", count: max(0, width - digits.count)) + digits
            }
        case "host_node_name":
            var buffer = [CChar](repeating: 0, count: 256)
            gethostname(&buffer, buffer.count - 1)
            return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        default:
            let variable = String(name.dropFirst(4))
            if name.hasPrefix("ENV_"), LateText.isName(variable) {
                if let value = variables[variable], !LateText.isInherited(variable, value) { return value }
                if ["command", "environment"].contains(key) {
                    imported.note(
                        section.file,
                        entry.line,
                        "\(section.title) \(key)",
                        "the variable \(variable) is the daemon's at each start, and isn't in the file: give it to the daemon's unit"
                    )
                }
                return LateText.variable(variable)
            }
            imported.note(section.file, entry.line, section.title, "%(\(name))s isn't known here, and was left out")
            return ""
        }
    }
}
