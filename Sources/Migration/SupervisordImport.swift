import DaemonConfiguration
import Glibc

/// The reading of `supervisord.conf`.
struct SupervisordImport {
    private typealias Section = SectionedFile.Section

    private let source: ImportSource
    private var sections: [Section] = []
    private var imported = ImportedChildren()

    init(_ source: ImportSource) throws(ConfigurationError) {
        self.source = source
        sections = try SectionedFile(source, inlineComments: [";"]).sections
        for section in sections where section.kind == "include" {
            for pattern in (section.entries["files"]?.value ?? "").split(whereSeparator: \.isWhitespace) {
                let pattern = String(pattern).replacing("%(here)s", with: source.directory)
                let files = source.files(matching: pattern)
                if files.isEmpty { imported.note(section.file, section.line, section.title, "no file matches \(pattern)") }
                for file in files {
                    let included = try ImportSource(path: file, environment: source.environment)
                    sections += try SectionedFile(included, inlineComments: [";"]).sections
                }
            }
        }
    }

    /// Returns the programs in the order of their priority.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        reading.read()
        return reading.imported
    }

    private mutating func read() {
        let daemon = sections.first { $0.kind == "supervisord" }
        noteDaemon(daemon)
        var members: [String: Int] = [:]
        for section in sections where section.kind == "group" {
            let rank = ImportedChildren.number(section.entries["priority"]?.value) ?? 999
            let names = (section.entries["programs"]?.value ?? "").split(separator: ",").map { SectionedFile.trimmed($0) }
            for name in names { members[name] = imported.groups.count }
            imported.groups.append((key: ImportedChildren.key(section.name), rank: rank, children: []))
            imported.note(
                section.file,
                section.line,
                section.title,
                "its programs have the paths /\(ImportedChildren.key(section.name))/NAME now"
            )
        }
        for section in sections {
            switch section.kind {
            case "program":
                for child in program(section, daemon) {
                    if let group = members[section.name] {
                        imported.groups[group].children.append(child)
                    } else {
                        imported.children.append(child)
                    }
                }
            case "supervisord", "supervisorctl", "group", "include": break
            case "unix_http_server":
                imported.note(
                    section.file,
                    section.line,
                    section.title,
                    "the daemon's control socket, for its own user alone, takes its place"
                )
            case "rpcinterface": break
            case "inet_http_server":
                imported.note(section.file, section.line, section.title, "there is no operation over the network; use ssh")
            case "eventlistener":
                imported.note(
                    section.file,
                    section.line,
                    section.title,
                    "not carried over: follow `coordinatorctl events -f --json` instead"
                )
            case "fcgi-program":
                imported.note(
                    section.file,
                    section.line,
                    section.title,
                    "not carried over: write a program with `sockets`, which it finds as descriptor 3"
                )
            default: imported.note(section.file, section.line, section.title, "an unknown section, which isn't carried over")
            }
        }
    }

    private mutating func noteDaemon(_ section: Section?) {
        guard let section else { return }
        let meanings = [
            "user": "run the daemon as that user", "directory": "start the daemon in that directory",
            "umask": "set it for each program, or for the daemon",
            "minfds": "set LimitNOFILE= of the daemon's unit", "minprocs": "set TasksMax= of the daemon's unit",
            "logfile": "the daemon logs to its standard error, which the journal keeps",
        ]
        for key in section.keys {
            guard let meaning = meanings[key] else { continue }
            imported.note(section.file, section.entries[key]?.line ?? 0, "\(section.title) \(key)", meaning)
        }
    }

    // MARK: Programs

    private static let silent: Set<String> = [
        "command", "process_name", "numprocs", "numprocs_start", "priority", "autostart", "startsecs", "startretries", "autorestart",
        "exitcodes",
        "stopsignal", "stopwaitsecs", "stopasgroup", "killasgroup", "user", "redirect_stderr", "stdout_logfile", "stdout_logfile_maxbytes",
        "stdout_logfile_backups", "stderr_logfile", "stderr_logfile_maxbytes", "stderr_logfile_backups", "environment", "directory",
        "umask",
    ]

    private mutating func program(_ section: Section, _ daemon: Section?) -> [ImportedChildren.Child] {
        for key in section.keys where !Self.silent.contains(key) {
            imported.note(section.file, section.entries[key]?.line ?? 0, "\(section.title) \(key)", "not carried over")
        }
        let count = ImportedChildren.number(section.entries["numprocs"]?.value) ?? 1
        let first = ImportedChildren.number(section.entries["numprocs_start"]?.value) ?? 0
        let isNumbered = section.entries.contains { $0.key != "process_name" && $0.value.value.contains("%(process_num)") }
        guard count > 1, isNumbered else {
            guard var child = child(section, daemon, number: first) else { return [] }
            if count != 1 { child.settings.insert(("instances", .word(String(max(0, min(count, 1_000))))), at: 0) }
            return [child]
        }
        imported.note(
            section.file,
            section.entries["numprocs"]?.line ?? section.line,
            "\(section.title) numprocs",
            "each process has a child of its own, because its number is in its settings"
        )
        let notes = imported.notes
        return (first..<first + min(count, 1_000)).compactMap { number in
            // The notes are the same for all of them.
            if number > first { imported.notes = notes }
            guard var child = child(section, daemon, number: number) else { return nil }
            child.key += "-\(number)"
            return child
        }
    }

    private mutating func child(_ section: Section, _ daemon: Section?, number: Int) -> ImportedChildren.Child? {
        let values = section.entries.mapValues { entry in expanded(entry, section, number) }
        var child = ImportedChildren.Child(key: ImportedChildren.key(section.name))
        child.rank = ImportedChildren.number(values["priority"]) ?? 999
        guard let command = values["command"].flatMap({ CommandWords.split($0) }), !command.isEmpty else {
            imported.note(
                section.file,
                section.line,
                section.title,
                "not carried over: its `command` is missing, or a quote in it isn't closed"
            )
            return nil
        }
        child.program.append(("command", .words(command)))
        var environment = SectionedFile.variables(daemon?.entries["environment"].map { expanded($0, section, number) } ?? "") ?? [:]
        if let text = values["environment"] {
            if let own = SectionedFile.variables(text) {
                environment.merge(own) { $1 }
            } else {
                note(section, "environment", "can't be read; not carried over")
            }
        }
        environment["SUPERVISOR_ENABLED"] = nil
        if !environment.isEmpty { child.program.append(("environment", .variables(environment))) }
        if let directory = values["directory"] { child.program.append(("directory", .text(directory))) }
        if let user = values["user"] { child.program.append(("user", .text(user))) }
        if let umask = values["umask"] { child.program.append(("umask", .word(umask))) }
        addStart(values, to: &child)
        addStop(values, section, to: &child)
        addLogging(values, section, to: &child)
        return child
    }

    private func addStart(_ values: [String: String], to child: inout ImportedChildren.Child) {
        let seconds = ImportedChildren.number(values["startsecs"]) ?? 1
        if seconds > 0 { child.program.append(("start_seconds", .word("\(seconds)s"))) }
        if Self.isFalse(values["autostart"]) { child.settings.append(("autostart", .word("false"))) }
        let codes = (values["exitcodes"] ?? "0").split(separator: ",").compactMap { Int(SectionedFile.trimmed($0)) }.filter { $0 != 0 }
        switch values["autorestart"]?.lowercased() {
        case "unexpected", nil:
            child.settings.append(("restart", .word("transient")))
            if !codes.isEmpty { child.program.append(("exit_codes", .list(codes.map { .word(String($0)) }))) }
        case let value: if Self.isFalse(value) { child.settings.append(("restart", .word("temporary"))) }
        }
        guard let retries = ImportedChildren.number(values["startretries"]) else { return }
        // As many failures as Supervisor allows, in the time that they take there: a second more after each.
        let period = max(1, retries * seconds + retries * (retries + 1) / 2 + 1)
        child.settings.append(
            ("restart_limits", .mapping([("intensity", .word(String(max(0, retries)))), ("period", .word("\(min(period, 86_400))s"))]))
        )
    }

    private mutating func addStop(_ values: [String: String], _ section: Section, to child: inout ImportedChildren.Child) {
        if let signal = values["stopsignal"], signal.uppercased() != "TERM" {
            child.program.append(("stop_signal", .word(signal.uppercased().replacing("SIG", with: ""))))
        }
        child.settings.append(("shutdown", .word("\(Int(values["stopwaitsecs"] ?? "") ?? 10)s")))
        if Self.isTrue(values["stopasgroup"]) {
            note(section, "stopasgroup", "the signal goes to the first process; the rest of the group is killed when that has ended")
        }
    }

    private mutating func addLogging(_ values: [String: String], _ section: Section, to child: inout ImportedChildren.Child) {
        var logging: [(String, ImportedValue)] = []
        switch values["stdout_logfile"] {
        case nil, "AUTO"?: break
        case let file? where ["/dev/stdout", "/dev/fd/1", "/dev/stderr"].contains(file): logging.append(("to_daemon", .word("true")))
        case let file? where file.uppercased() == "NONE" || file == "/dev/null": logging.append(("file", .word("none")))
        case "syslog"?: note(section, "stdout_logfile", "no syslog: the daemon's standard error goes to the journal")
        case let file?: logging.append(("file", .text(file)))
        }
        if let size = values["stdout_logfile_maxbytes"] { logging.append(("maximum_size", .word(Self.size(size)))) }
        if let keep = values["stdout_logfile_backups"].flatMap({ Int($0) }) { logging.append(("keep", .word(String(min(keep, 99))))) }
        if !Self.isTrue(values["redirect_stderr"]) {
            logging.append(("standard_error", .word("separate")))
            if let file = values["stderr_logfile"], !["AUTO", "NONE", "/dev/null", "/dev/stderr"].contains(file) {
                note(section, "stderr_logfile", "both streams are in one file, and each line tells its stream")
            }
        }
        if !logging.isEmpty { child.settings.append(("logging", .mapping(logging))) }
    }

    // MARK: Values

    private mutating func note(_ section: Section, _ key: String, _ message: String) {
        imported.note(section.file, section.entries[key]?.line ?? section.line, "\(section.title) \(key)", message)
    }

    private static func isTrue(_ value: String?) -> Bool { ["true", "yes", "on", "1"].contains(value?.lowercased() ?? "") }

    private static func isFalse(_ value: String?) -> Bool { ["false", "no", "off", "0"].contains(value?.lowercased() ?? "") }

    private static func size(_ text: String) -> String {
        let upper = text.uppercased()
        for (suffix, unit) in [("KB", "KiB"), ("MB", "MiB"), ("GB", "GiB")] where upper.hasSuffix(suffix) {
            return upper.dropLast(2) + unit
        }
        // A size without a unit is in bytes, and ours has one.
        guard let bytes = Int(upper), bytes > 0 else { return "0" }
        return "\(max(16, bytes / 1_024))KiB"
    }

    /// Replaces `%(name)s` as Python does.
    private mutating func expanded(_ entry: SectionedFile.Entry, _ section: Section, _ number: Int) -> String {
        var result = ""
        var rest = entry.value[...]
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
            result += value(of: name, form: String(form), section, entry.line, number)
        }
        return result + rest
    }

    private mutating func value(of name: String, form: String, _ section: Section, _ line: Int, _ number: Int) -> String {
        switch name {
        case "here": return source.directory
        case "program_name", "group_name": return section.name
        case "numprocs": return section.entries["numprocs"]?.value ?? "1"
        case "process_num":
            let digits = String(number)
            // %(process_num)02d
            guard form.hasPrefix("0"), let width = Int(form), width <= 20 else { return digits }
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        case "host_node_name":
            var buffer = [CChar](repeating: 0, count: 256)
            gethostname(&buffer, buffer.count - 1)
            return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        default:
            if name.hasPrefix("ENV_"), let value = source.environment[String(name.dropFirst(4))] { return value }
            imported.note(section.file, line, section.title, "%(\(name))s isn't known here, and was left out")
            return ""
        }
    }
}
