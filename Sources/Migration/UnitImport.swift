import DaemonConfiguration
import Glibc

/// The reading of systemd's units: a service, or a timer or a socket with its service, and what is beside it: the services on which it depends,
/// and its sockets.
struct UnitImport {
    /// A line of a unit; one key may have several.
    private struct Entry {
        let section: String
        let key: String
        let value: String
        let line: Int
    }

    private struct Unit {
        let name: String
        let source: ImportSource
        var entries: [Entry]

        /// The values of a key; an empty one takes back those before it.
        func values(_ key: String, _ section: String = "Service") -> [Entry] {
            entries.reduce(into: []) { list, entry in
                guard entry.section == section, entry.key == key else { return }
                if entry.value.isEmpty { list = [] } else { list.append(entry) }
            }
        }

        func last(_ key: String, _ section: String = "Service") -> Entry? { values(key, section).last }
    }

    private var units: [Unit] = []
    private var imported = ImportedChildren()

    init(_ source: ImportSource) throws(ConfigurationError) {
        var open = [source]
        let directory = source.directory
        while let next = open.popLast() {
            let unit = try Self.unit(next)
            if units.contains(where: { $0.name == unit.name }) { continue }
            units.append(unit)
            for name in Self.relations(of: unit) where !units.contains(where: { $0.name == name }) {
                let path = "\(directory)/\(name)"
                if access(path, R_OK) == 0 { open.append(try ImportSource(path: path, environment: source.environment)) }
            }
        }
    }

    /// The units that one names, of which those beside it are read too.
    private static func relations(of unit: Unit) -> [String] {
        let keys = ["After", "Wants", "Requires", "BindsTo", "Requisite", "Before"]
        let named = keys.flatMap { unit.values($0, "Unit") }.flatMap { $0.value.split(whereSeparator: \.isWhitespace).map(String.init) }
        let activated = service(of: unit).map { [$0] } ?? []
        let sockets = unit.values("Sockets").flatMap { $0.value.split(whereSeparator: \.isWhitespace).map(String.init) }
        let own = unit.name.hasSuffix(".service") ? ["\(unit.name.dropLast(8)).socket"] : []
        return (named + activated).filter { $0.hasSuffix(".service") } + (sockets + own).filter { $0.hasSuffix(".socket") }
    }

    /// The service that a timer or a socket activates; nil: the unit is a service.
    private static func service(of unit: Unit) -> String? {
        for (suffix, key, section) in [(".timer", "Unit", "Timer"), (".socket", "Service", "Socket")] where unit.name.hasSuffix(suffix) {
            return unit.last(key, section)?.value ?? "\(unit.name.dropLast(suffix.count)).service"
        }
        return nil
    }

    private static func unit(_ source: ImportSource) throws(ConfigurationError) -> Unit {
        var entries: [Entry] = []
        var section = ""
        var joined = ""
        var first = 0
        for (index, line) in source.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = SectionedFile.trimmed(line)
            if text.hasPrefix("#") || text.hasPrefix(";") { continue }
            if joined.isEmpty { first = index + 1 }
            // A backslash at the end of a line is a space, and the next line goes on.
            if text.hasSuffix("\\") {
                joined += text.dropLast() + " "
                continue
            }
            let complete = joined + text
            joined = ""
            if complete.isEmpty { continue }
            if complete.hasPrefix("["), complete.hasSuffix("]") {
                section = String(complete.dropFirst().dropLast())
                continue
            }
            guard let equals = complete.firstIndex(of: "="), !section.isEmpty else {
                throw source.failure(first, "`\(complete.prefix(40))` is neither a section nor `Key=value`; expected one of them")
            }
            entries.append(
                Entry(
                    section: section,
                    key: SectionedFile.trimmed(complete[..<equals]),
                    value: SectionedFile.trimmed(complete[complete.index(after: equals)...]),
                    line: first
                )
            )
        }
        return Unit(name: source.path.split(separator: "/").last.map(String.init) ?? source.path, source: source, entries: entries)
    }

    /// Returns a child for each service.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var reading = self
        for unit in units {
            reading.noteKeys(unit)
            if unit.name.hasSuffix(".service") { try reading.read(unit) }
        }
        for unit in units where unit.name.hasSuffix(".timer") { reading.addTimes(unit) }
        for unit in units where unit.name.hasSuffix(".service") { reading.addSockets(unit) }
        for unit in units where unit.name.hasSuffix(".service") { reading.addDependencies(unit) }
        return reading.imported
    }

    private static func key(_ name: String) -> String { ImportedChildren.key(name.hasSuffix(".service") ? String(name.dropLast(8)) : name) }

    private mutating func read(_ unit: Unit) throws(ConfigurationError) {
        var child = ImportedChildren.Child(key: Self.key(unit.name))
        let starts = unit.values("ExecStart")
        (child.file, child.line) = (unit.source.path, starts.first?.line ?? 0)
        guard !starts.isEmpty else { throw unit.source.failure(0, "the unit has no `ExecStart`; expected a service with a command") }
        for entry in unit.values("Environment") {
            for written in CommandWords.split(entry.value) ?? [] {
                let word = specified(written, of: entry, unit)
                guard let equals = word.firstIndex(of: "=") else { continue }
                child.environment[String(word[..<equals])] = String(word[word.index(after: equals)...])
            }
        }
        let type = unit.last("Type")?.value ?? "simple"
        guard let command = command(starts, unit) else {
            throw unit.source.failure(starts[0].line, "a quote in the command isn't closed; expected a command and its arguments")
        }
        child.command = command
        addVariables(unit, to: &child)
        addIdentity(unit, to: &child)
        addKind(type, unit, to: &child)
        addRestarts(unit, type, to: &child)
        addStop(unit, to: &child)
        addHooks(unit, type, to: &child)
        addLimits(unit, to: &child)
        addOutput(unit, to: &child)
        if type == "oneshot", KnownKeys.has("oneshot", in: "child") {
            child.becomeOneshot(retries: ["on-failure", "on-abnormal"].contains(unit.last("Restart")?.value ?? "no"))
        }
        imported.children.append(child)
    }

    /// Gives the program the files of variables, which win over `Environment=` there, and not over `environment` here.
    private mutating func addVariables(_ unit: Unit, to child: inout ImportedChildren.Child) {
        let files = unit.values("EnvironmentFile").map { (entry: $0, path: specified($0, unit)) }
        if !files.isEmpty { child.give("environment_files", .words(files.map(\.path))) }
        for (entry, path) in files where !child.environment.isEmpty {
            if let names = DaemonConfiguration.variables(inFile: path.hasPrefix("-") ? String(path.dropFirst()) : path) {
                for name in names { child.environment[name] = nil }
            } else {
                note(unit, entry, "the file can't be read now: of a variable that `environment` has too, that value holds here")
            }
        }
    }

    private mutating func addIdentity(_ unit: Unit, to child: inout ImportedChildren.Child) {
        for (key, ours) in [("User", "user"), ("Group", "group")] {
            if let entry = unit.last(key) { child.give(ours, .text(specified(entry, unit))) }
        }
        if let entry = unit.last("UMask") { child.give("umask", .word(entry.value)) }
        if let nice = unit.last("Nice"), Int(nice.value) != nil { child.give("nice", .word(nice.value)) }
        if let entry = unit.last("WorkingDirectory") {
            let path = specified(entry, unit)
            let plain = path.hasPrefix("-") ? String(path.dropFirst()) : path
            if plain == "~" {
                note(unit, entry, "write the home directory of the user")
            } else {
                child.give("directory", .text(plain))
            }
        } else {
            child.give("directory", .text("/"))
        }
        if let entry = unit.last("OOMScoreAdjust"), !child.give("oom_score_adj", .word(entry.value)) {
            note(unit, entry, "not carried over")
        }
        if let entry = unit.last("AmbientCapabilities") {
            let names = entry.value.lowercased().split(whereSeparator: \.isWhitespace).map {
                $0.hasPrefix("cap_") ? String($0.dropFirst(4)) : String($0)
            }
            let areKnown = names.allSatisfy { KnownKeys.has("capabilities", in: "program", taking: $0) }
            if !areKnown || !child.give("capabilities", .words(names)) {
                note(unit, entry, "not carried over: the program has the daemon's capabilities")
            }
        }
    }

    private mutating func addKind(_ type: String, _ unit: Unit, to child: inout ImportedChildren.Child) {
        let limit = unit.last("TimeoutStartSec") ?? unit.last("TimeoutSec")
        switch type {
        case "notify", "notify-reload":
            child.give("ready", .word("notify"))
            // What is ready in its own time always has a limit here.
            child.give("start_timeout", .time(Self.limit(limit, otherwise: 90_000) ?? Self.longestStart))
        case "oneshot":
            if let time = Self.limit(limit, otherwise: nil) { child.give("start_timeout", .time(time)) }
        case "simple", "exec", "idle":
            if let entry = unit.last("TimeoutStartSec") { note(unit, entry, "a program without `ready` is ready once it runs") }
        case "forking":
            if let entry = unit.last("Type") {
                note(unit, entry, "the process that the daemon starts is the program: let it stay in the foreground")
            }
        default:
            if let entry = unit.last("Type") { note(unit, entry, "\(type) isn't known here: see `ready`") }
        }
        if let entry = unit.last("WatchdogSec"), let time = Self.milliseconds(entry.value), time > 0 { child.give("watchdog", .time(time)) }
        if let entry = unit.last("RuntimeMaxSec"), let time = Self.milliseconds(entry.value), time > 0 {
            child.give("recycle", .mapping([("after", .time(time))]))
        }
    }

    private mutating func addRestarts(_ unit: Unit, _ type: String, to child: inout ImportedChildren.Child) {
        switch unit.last("Restart")?.value ?? "no" {
        case "always": break
        case "on-failure": child.put("restart", .word("on_failure"))
        case "no": child.put("restart", .word("never"))
        case "on-success":
            if let entry = unit.last("Restart") { note(unit, entry, "the child is restarted after failures too") }
        case let other:
            child.put("restart", .word("on_failure"))
            if let entry = unit.last("Restart") { note(unit, entry, "\(other): the child is restarted after every failure") }
        }
        for (key, ours) in [("SuccessExitStatus", "exit_codes"), ("RestartPreventExitStatus", "final_exit_codes")] {
            let words = unit.values(key).flatMap { $0.value.split(whereSeparator: \.isWhitespace).map(String.init) }
            let codes = words.compactMap { Int($0) }.filter { (0...255).contains($0) }
            if let entry = unit.last(key), codes.count < words.count {
                note(unit, entry, "names and signals among the codes aren't carried over")
            }
            if codes.isEmpty { continue }
            if !child.give(ours, .list(codes.map { .word(String($0)) })), let entry = unit.last(key) {
                child.give("exit_codes", .list(codes.filter { $0 != 0 }.map { .word(String($0)) }))
                note(unit, entry, "the codes are those of an expected end")
            }
        }
        let place = unit.last("RestartSec")
        let delay = place.flatMap { Self.milliseconds($0.value) } ?? 100
        let given = (unit.last("StartLimitBurst", "Unit") ?? unit.last("StartLimitBurst")).flatMap { ImportedChildren.number($0.value) }
        let burst = max(0, given ?? 5)
        let keys = ["StartLimitIntervalSec", "StartLimitInterval"]
        let interval =
            keys.flatMap { [unit.last($0, "Unit"), unit.last($0)] }.compactMap(\.self).first.flatMap { Self.milliseconds($0.value) }
            ?? 10_000
        // A limit that the delay alone keeps from being reached is none.
        let isLimited = burst > 0 && interval > 0 && burst * delay < interval
        child.limit(isLimited ? burst : nil, delay: delay, start: max(0, interval / (burst + 1) - delay), counts: "every_restart")
    }

    private mutating func addStop(_ unit: Unit, to child: inout ImportedChildren.Child) {
        let time = Self.limit(unit.last("TimeoutStopSec") ?? unit.last("TimeoutSec"), otherwise: 90_000)
        child.put("stop_timeout", time.map { .time($0) } ?? .word("infinity"))
        if let entry = unit.last("KillSignal"), let problem = child.stop(by: entry.value) { note(unit, entry, problem) }
        let mode = unit.last("KillMode")
        switch mode?.value ?? "control-group" {
        case "control-group":
            // All processes get the signal at once.
            if !child.give("stop_group", .word("true")), let mode { note(unit, mode, "the first process alone gets the signal") }
        case "mixed":
            if !child.give("stop_group", .word("false")), let mode { note(unit, mode, "the signal always goes to the first process alone") }
        default: if let mode { note(unit, mode, "what is left of the group is always killed") }
        }
    }

    private mutating func addHooks(_ unit: Unit, _ type: String, to child: inout ImportedChildren.Child) {
        for (key, moment) in [
            ("ExecStartPre", "before_start"), ("ExecStop", "stop"), ("ExecStopPost", "after_end"), ("ExecReload", "reload"),
        ] {
            let entries = unit.values(key)
            if key == "ExecStop", type == "oneshot" {
                for entry in entries {
                    let advice = "`after_end` of `hooks` is run at its end"
                    note(unit, entry, "a oneshot that has completed isn't stopped, so that the command isn't run; \(advice)")
                }
                continue
            }
            guard let last = entries.last, let command = command(entries, unit) else { continue }
            let signal = entries.count == 1 ? Self.signal(last) : nil
            if key == "ExecStop", let signal {
                if let problem = child.stop(by: signal) { note(unit, last, problem) }
                continue
            }
            var value = ImportedValue.words(LateText.resolved(command, [:]).command)
            if key == "ExecReload", let signal { value = .word(signal) }
            if !child.hook(moment, value) { note(unit, last, "no command is run then") }
        }
    }

    /// Returns the signal that a command sends to the unit's main process, if it does nothing else.
    private static func signal(_ entry: Entry) -> String? {
        let words = CommandWords.split(String(entry.value.drop { "@-:+!|".contains($0) })) ?? []
        guard let command = words.first, command == "kill" || command.hasSuffix("/kill") else { return nil }
        guard let last = words.last, ["$MAINPID", "${MAINPID}"].contains(last) else { return nil }
        let options = words.dropFirst().dropLast()
        switch (options.count, options.first) {
        case (0, _): return SignalName.read("TERM")
        case (1, let option?) where option.hasPrefix("-"): return SignalName.read(String(option.dropFirst()))
        case (2, "-s"?), (2, "-n"?), (2, "--signal"?): return options.last.flatMap { SignalName.read($0) }
        default: return nil
        }
    }

    private mutating func addLimits(_ unit: Unit, to child: inout ImportedChildren.Child) {
        let names = [
            "nofile": "nofile", "nproc": "nproc", "core": "core", "as": "as", "data": "data", "stack": "stack",
            "fsize": "fsize", "memlock": "memlock", "cpu": "cpu",
        ]
        var limits: [(String, ImportedValue)] = []
        for (key, name) in names.sorted(by: { $0.key < $1.key }) {
            guard let entry = unit.last("Limit\(key.uppercased())") else { continue }
            let bounds = entry.value.split(separator: ":").map { Self.bound(String($0), isTime: key == "cpu") }
            guard let soft = bounds.first.flatMap(\.self), let hard = bounds.last.flatMap(\.self) else {
                note(unit, entry, "can't be read; not carried over"); continue
            }
            limits.append((name, bounds.count == 1 ? .word(soft) : .mapping([("soft", .word(soft)), ("hard", .word(hard))])))
        }
        for (key, name) in [("MemoryMax", "memory"), ("MemoryLimit", "memory"), ("CPUQuota", "cpus"), ("TasksMax", "pids")] {
            guard let entry = unit.last(key), entry.value != "infinity" else { continue }
            let percent = entry.value.hasSuffix("%") ? Double(entry.value.dropLast()) : nil
            let text = key == "CPUQuota" ? percent.map { "\($0 / 100)" } : percent == nil ? Self.bound(entry.value, isTime: false) : nil
            if let text, KnownKeys.has(name, in: "limits") {
                limits.append((name, .word(text)))
            } else {
                note(unit, entry, "not carried over: there is no such limit in `limits`")
            }
        }
        if !limits.isEmpty { child.give("limits", .mapping(limits)) }
    }

    private mutating func addOutput(_ unit: Unit, to child: inout ImportedChildren.Child) {
        if let entry = unit.last("StandardInput") {
            let path = entry.value.hasPrefix("file:") ? String(entry.value.dropFirst(5)) : entry.value
            if !["null", ""].contains(path), !path.hasPrefix("/") || !child.give("stdin", .text(path)) {
                note(unit, entry, "the program has neither a terminal nor a socket as standard input")
            } else if path == "null" {
                child.give("stdin", .word("null"))
            }
        }
        var places: [String] = []
        // Standard error goes where standard output does, unless the unit says otherwise.
        let errors = unit.last("StandardError")?.value ?? "inherit"
        let isSilent = unit.last("StandardOutput")?.value == "null" && ["inherit", "null"].contains(errors)
        for key in ["StandardOutput", "StandardError"] {
            guard let entry = unit.last(key) else { continue }
            let parts = specified(entry, unit).split(separator: ":", maxSplits: 1).map(String.init)
            switch parts.first {
            case "file"? where parts.count == 2, "append"? where parts.count == 2, "truncate"? where parts.count == 2:
                if key == "StandardOutput" || places.isEmpty {
                    child.log("file", .text(parts[1]))
                    if !child.log("format", .word("raw"), taking: "raw") {
                        note(unit, entry, "each line begins with its time and its stream")
                    }
                    child.log("maximum_size", .word("0"))
                } else if places != [parts[1]] {
                    child.log("standard_error", .word("separate"))
                    note(unit, entry, "both streams are in one file, and each line of it tells its stream")
                }
                places.append(parts[1])
            case "null"? where key == "StandardOutput":
                child.log("file", .word("none"))
                if isSilent { child.log("to_daemon", .word("false")) }
            case _ where isSilent: break
            case "inherit"?, "journal"?, "journal+console"?, "kmsg"?, "syslog"?:
                if key == "StandardOutput" {
                    child.log("to_daemon", .word("true"))
                } else {
                    child.log("standard_error", .word("separate"))
                }
            default: note(unit, entry, "not carried over: see `logging`")
            }
        }
    }

    private mutating func addTimes(_ unit: Unit) {
        let target = Self.service(of: unit) ?? ""
        let times = unit.values("OnCalendar", "Timer")
        for (number, entry) in times.enumerated() {
            guard let index = imported.children.firstIndex(where: { $0.key == Self.key(target) }) else {
                note(unit, entry, "the unit \(target) isn't beside the timer; import it first")
                continue
            }
            guard let cron = CalendarTime.cron(entry.value),
                KnownKeys.has("schedule", in: "child") || KnownKeys.has("schedule", in: imported.children[index].kind)
            else {
                note(unit, entry, "not carried over: write a `schedule`, or a line of crontab(5) with `coordinatorctl start`")
                continue
            }
            if number < times.count - 1 {
                note(unit, entry, "not carried over: a child has one `schedule`, which has the last of the times")
                continue
            }
            let isPersistent = Truth.isTrue(unit.last("Persistent", "Timer")?.value)
            let schedule = ImportedValue.mapping([("cron", .text(cron))] + (isPersistent ? [("missed", .word("run"))] : []))
            if !imported.children[index].put("schedule", schedule) { imported.children[index].give("schedule", schedule) }
        }
    }

    /// Gives a service the sockets that systemd opens for it.
    private mutating func addSockets(_ service: Unit) {
        guard let index = imported.children.firstIndex(where: { $0.key == Self.key(service.name) }) else { return }
        var (named, sockets): (Set<String>, [ImportedValue]) = ([], [])
        for entry in service.values("Sockets") {
            for name in entry.value.split(whereSeparator: \.isWhitespace).map(String.init) {
                named.insert(name)
                if !units.contains(where: { $0.name == name }) { note(service, entry, "the unit \(name) isn't beside the service") }
            }
        }
        for unit in units where unit.name.hasSuffix(".socket") {
            guard named.contains(unit.name) || Self.service(of: unit) == service.name else { continue }
            if Truth.isTrue(unit.last("Accept", "Socket")?.value) { continue }
            let name = unit.last("FileDescriptorName", "Socket").map { specified($0, unit) } ?? unit.name
            for entry in unit.values("ListenStream", "Socket") {
                let text = specified(entry, unit)
                let parts = text.split(separator: ":", omittingEmptySubsequences: false)
                guard text.hasPrefix("/") || UInt16(parts.last ?? "") ?? 0 > 0, !text.hasPrefix("vsock:") else {
                    note(unit, entry, "not carried over: `sockets` have addresses in numbers, and paths")
                    continue
                }
                let address = parts.count == 1 && !text.hasPrefix("/") ? "*:\(text)" : text
                var socket: [(String, ImportedValue)] = [("name", .text(name)), ("listen", .text(address))]
                if text.hasPrefix("/") { socket.append(("mode", .word(unit.last("SocketMode", "Socket")?.value ?? "0666"))) }
                sockets.append(.mapping(socket))
            }
        }
        guard !sockets.isEmpty, !imported.children[index].give("sockets", .list(sockets)) else { return }
        imported.note(service.source.path, 0, service.name, "its sockets aren't carried over: what runs once has none")
    }

    private mutating func addDependencies(_ unit: Unit) {
        guard let index = imported.children.firstIndex(where: { $0.key == Self.key(unit.name) }) else { return }
        for (key, isRequired) in [
            ("Requires", true), ("BindsTo", true), ("Requisite", true), ("After", false), ("Wants", false), ("Before", false),
        ] {
            for entry in unit.values(key, "Unit") {
                for name in entry.value.split(whereSeparator: \.isWhitespace).map(String.init) {
                    guard let other = imported.children.firstIndex(where: { $0.key == Self.key(name) }) else {
                        note(unit, entry, "\(name) isn't imported: the service manager starts the daemon after it, if its unit says so")
                        continue
                    }
                    let (from, to) = key == "Before" ? (other, index) : (index, other)
                    let target = imported.children[to].key
                    if imported.children[from].after.contains(where: { $0.name == target }) { continue }
                    imported.children[from].after.append((target, nil, isRequired))
                }
            }
        }
    }

    // MARK: Values

    /// Says what isn't carried over, by the table of keys.
    private mutating func noteKeys(_ unit: Unit) {
        for entry in unit.entries where !entry.section.hasPrefix("X-") {
            guard let table = ForeignKeys.table(entry.section, of: .systemd) else {
                note(unit, entry, "an unknown section, which isn't carried over")
                continue
            }
            if let message = table.fate(of: entry.key).message, !entry.value.isEmpty { note(unit, entry, message) }
        }
    }

    private mutating func note(_ unit: Unit, _ entry: Entry, _ message: String) {
        imported.note(unit.source.path, entry.line, "[\(entry.section)] \(entry.key)", message)
    }

    /// Replaces the specifiers of systemd.unit(5) in a value.
    private mutating func specified(_ entry: Entry, _ unit: Unit) -> String { specified(entry.value, of: entry, unit) }

    /// Replaces the specifiers in a part of a value; words are told apart before.
    private mutating func specified(_ text: String, of entry: Entry, _ unit: Unit) -> String {
        var result = ""
        var rest = text[...]
        let name = unit.name.split(separator: ".").dropLast().joined(separator: ".")
        let (prefix, instance) = Self.parts(of: name)
        while let percent = rest.firstIndex(of: "%") {
            result += rest[..<percent]
            rest = rest[rest.index(after: percent)...]
            let specifier = rest.popFirst()
            if specifier == "i" || specifier == "I", instance == "" {
                let copy = "\(prefix)@INSTANCE.\(unit.name.split(separator: ".").last ?? "service")"
                note(unit, entry, "a template has no instance here: copy the unit to \(copy) and import that")
            }
            switch specifier {
            case "%"?: result += "%"
            case "n"?: result += unit.name
            case "N"?: result += name
            case "p"?: result += prefix
            case "i"?: result += instance ?? ""
            case "I"?: result += Self.unescaped(instance ?? "")
            case "t"?: result += "/run"
            case "S"?: result += "/var/lib"
            case "C"?: result += "/var/cache"
            case "L"?: result += "/var/log"
            case "E"?: result += "/etc"
            case "T"?: result += "/tmp"
            case "V"?: result += "/var/tmp"
            case "h"?: result += "/root"
            case let other?: note(unit, entry, "%\(other) isn't known here, and was left out")
            case nil: result += "%"
            }
        }
        return result + rest
    }

    /// Returns what is before and after the `@` of a unit's name; the instance is empty in a template, and nil in a unit that isn't of one.
    private static func parts(of name: String) -> (prefix: String, instance: String?) {
        guard let at = name.firstIndex(of: "@") else { return (name, nil) }
        return (String(name[..<at]), String(name[name.index(after: at)...]))
    }

    /// Takes back what systemd-escape(1) does: `-` is a slash, and `\xHH` a byte.
    private static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let character = rest.popFirst() {
            let digits = rest.first == "x" ? rest.dropFirst().prefix(2) : ""
            if character == "\\", digits.count == 2, digits.allSatisfy(\.isHexDigit), let byte = UInt8(digits, radix: 16) {
                bytes.append(byte)
                rest = rest.dropFirst(3)
            } else {
                bytes += Array((character == "-" ? "/" : String(character)).utf8)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the words of commands; several of them are a shell's, one after the other.
    ///
    /// Nil: a quote isn't closed.
    private mutating func command(_ entries: [Entry], _ unit: Unit) -> [String]? {
        var commands: [(words: [String], ignores: Bool)] = []
        for entry in entries {
            let prefix = entry.value.prefix { "@-:+!|".contains($0) }
            let text = String(entry.value.dropFirst(prefix.count))
            if prefix.contains("@") || prefix.contains("+") || prefix.contains("!") || prefix.contains("|") {
                note(unit, entry, "the prefix `\(prefix)` isn't carried over: the command runs as the program does, under its own name")
            }
            for difference in Self.differences(text) { note(unit, entry, difference) }
            guard let words = CommandWords.split(prefix.contains(":") ? text : Self.opened(text)), !words.isEmpty else { return nil }
            commands.append((words.map { specified($0, of: entry, unit) }, prefix.contains("-")))
        }
        guard commands.count > 1 || commands.contains(where: \.ignores) else { return commands.first?.words }
        let parts = commands.enumerated().map { index, command in
            let line = command.words.map(LateText.shellWord).joined(separator: " ")
            return command.ignores ? "{ \(line) || true; }" : index == commands.count - 1 ? "exec \(line)" : line
        }
        return ["sh", "-c", parts.joined(separator: " && ")]
    }

    /// Returns what there is to note of a command line that systemd reads otherwise: `;` between two commands, and escapes of characters.
    private static func differences(_ line: String) -> [String] {
        let isSpace = { (scalar: Unicode.Scalar?) in scalar.map { $0.properties.isWhitespace } ?? true }
        var (quote, former): (Unicode.Scalar?, Unicode.Scalar?) = (nil, nil)
        var (separates, escapes) = (false, false)
        var rest = line.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch (quote, scalar) {
            case (_, "\\"):
                if let next = rest.popFirst(), isEscape(next, before: rest, in: quote) { escapes = true }
            case (nil, "'"), (nil, "\""): quote = scalar
            case (let open?, _) where open == scalar: quote = nil
            case (nil, ";") where isSpace(former) && isSpace(rest.first): separates = true
            default: break
            }
            former = scalar
        }
        return (separates ? ["`;` doesn't separate commands here, and is an argument: give each command a line"] : [])
            + (escapes ? ["escapes such as `\\n` aren't read here: write the characters themselves"] : [])
    }

    /// Whether what follows a backslash is another character there than here, by the table of systemd.syntax(7).
    private static func isEscape(
        _ scalar: Unicode.Scalar,
        before rest: Substring.UnicodeScalarView,
        in quote: Unicode.Scalar?
    ) -> Bool {
        let areDigits = { (count: Int) in
            rest.prefix(count).count == count && rest.prefix(count).allSatisfy { $0.properties.isASCIIHexDigit }
        }
        switch scalar {
        case "a", "b", "f", "n", "r", "t", "v", "s": return true
        case "x": return areDigits(2)
        case "u": return areDigits(4)
        case "U": return areDigits(8)
        case "0"..."3": return rest.prefix(2).count == 2 && rest.prefix(2).allSatisfy { ("0"..."7").contains($0) }
        case "\\", "\"": return quote == "'"
        case "'": return quote != nil
        default: return false
        }
    }

    /// Leaves `$NAME`, which is split into words, and `${NAME}`, which is a part of one, to a shell.
    private static func opened(_ text: String) -> String {
        LateText.opened(text) { name, isBraced in
            // What `hooks` have in its place.
            let variable = LateText.optional(name == "MAINPID" ? "COORDINATOR_PID" : name)
            return isBraced ? "\"\(variable)\"" : variable
        }
    }

    /// Reads `90`, `1min 30s`, `500ms` or `infinity`, which is nil as what can't be read is.
    static func milliseconds(_ text: String) -> Int? {
        let units: [String: Double] = [
            "us": 0.001, "usec": 0.001, "ms": 1, "msec": 1, "": 1_000, "s": 1_000, "sec": 1_000, "second": 1_000, "seconds": 1_000,
            "m": 60_000, "min": 60_000,
            "minute": 60_000, "minutes": 60_000, "h": 3_600_000, "hr": 3_600_000, "hour": 3_600_000, "hours": 3_600_000, "d": 86_400_000,
            "day": 86_400_000,
            "days": 86_400_000, "w": 604_800_000, "week": 604_800_000, "weeks": 604_800_000,
            "M": 2_629_800_000, "month": 2_629_800_000, "months": 2_629_800_000, "y": 31_557_600_000, "year": 31_557_600_000,
            "years": 31_557_600_000,
        ]
        var total = 0.0
        var rest = text.filter { !$0.isWhitespace }[...]
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isNumber || $0 == "." }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard let number = Double(digits), let factor = units[String(unit)] else { return nil }
            total += number * factor
        }
        // A time that isn't zero stays so.
        return total < 1e12 ? max(total > 0 ? 1 : 0, Int(total.rounded())) : nil
    }

    /// The limit of a start that has none there: a year, in milliseconds.
    private static let longestStart = 365 * 86_400_000

    /// Reads a limit of time, in milliseconds; what can't be read is left out, as it is there.
    ///
    /// - Returns: `nil` for no limit, which 0 and `infinity` mean.
    private static func limit(_ entry: Entry?, otherwise standard: Int?) -> Int? {
        if entry?.value == "infinity" { return nil }
        guard let time = entry.flatMap({ milliseconds($0.value) }) else { return standard }
        return time > 0 ? time : nil
    }

    /// Reads a limit: a number, with K, M, G or T of 1024, a time, or `infinity`.
    private static func bound(_ text: String, isTime: Bool) -> String? {
        if text == "infinity" { return "unlimited" }
        if Int(text) != nil { return text }
        if isTime { return milliseconds(text).map { "\(max(1, $0 / 1_000))s" } }
        guard let unit = text.last, "KMGT".contains(unit), Int(text.dropLast()) != nil else { return nil }
        return "\(text.dropLast())\(unit)iB"
    }
}

/// Calendar times of systemd.time(7), as the five fields of cron where these can say them.
package enum CalendarTime {
    package static func cron(_ text: String) -> String? {
        let named = [
            "minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 1", "monthly": "0 0 1 * *",
            "yearly": "0 0 1 1 *", "annually": "0 0 1 1 *", "quarterly": "0 0 1 1,4,7,10 *",
        ]
        if let known = named[text.lowercased()] { return known }
        var parts = text.split(separator: " ").map(String.init)
        var weekday = "*"
        if let first = parts.first, first.first?.isLetter == true {
            guard let days = days(first) else { return nil }
            weekday = days
            parts.removeFirst()
        }
        var (month, day) = ("*", "*")
        if let first = parts.first, first.contains("-") {
            let date = first.split(separator: "-").map(String.init)
            guard date.count == 2 || date.count == 3 && date[0] == "*", let dayField = field(date[date.count - 1]),
                let monthField = field(date[date.count - 2])
            else { return nil }
            (month, day) = (monthField, dayField)
            parts.removeFirst()
        }
        let time = (parts.first ?? "00:00").split(separator: ":").map(String.init)
        guard parts.count <= 1, (2...3).contains(time.count), time.count == 2 || ["0", "00"].contains(time[2]), let hour = field(time[0]),
            let minute = field(time[1])
        else { return nil }
        // Two days that cron's fields name are either of them, and not both.
        guard day.hasPrefix("*") || weekday.hasPrefix("*") else { return nil }
        return "\(minute) \(hour) \(day) \(month) \(weekday)"
    }

    private static func field(_ text: String) -> String? {
        if text == "*" { return text }
        let items = text.split(separator: ",").map { item -> String? in
            let parts = item.split(separator: "/", maxSplits: 1).map(String.init)
            guard let first = parts.first else { return nil }
            let bounds = first.components(separatedBy: "..")
            let numbers = bounds.compactMap { Int($0) }
            let base = first == "*" ? "*" : numbers.count == bounds.count ? numbers.map(String.init).joined(separator: "-") : nil
            guard parts.count == 2 else { return base }
            guard let base, let step = Int(parts[1]) else { return nil }
            return base == "*" || base.contains("-") ? "\(base)/\(step)" : base == "0" ? "*/\(step)" : nil
        }
        return items.contains { $0 == nil } || items.isEmpty ? nil : items.compactMap(\.self).joined(separator: ",")
    }

    /// Reads names of days and ranges of them; none goes on over the end of a week, as there.
    private static func days(_ text: String) -> String? {
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        let items = text.split(separator: ",").map { item -> String? in
            // A hyphen is what two periods were before.
            let bounds = item.lowercased().replacing("-", with: "..").components(separatedBy: "..").map { name in
                names.firstIndex { $0 == name || $0.prefix(3) == name }.map { $0 + 1 }
            }
            switch (bounds.count, bounds.first.flatMap(\.self), bounds.last.flatMap(\.self)) {
            // Sunday is 0 and 7.
            case (1, let day?, _): return String(day % 7)
            case (2, let first?, let last?) where first <= last: return "\(first)-\(last)"
            default: return nil
            }
        }
        return items.contains { $0 == nil } || items.isEmpty ? nil : items.compactMap(\.self).joined(separator: ",")
    }
}

extension StringProtocol {
    /// The parts between occurrences of a separator, which may have several characters.
    fileprivate func components(separatedBy separator: String) -> [String] {
        var result: [String] = []
        var rest = String(self)[...]
        while let range = rest.firstRange(of: separator) {
            result.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return result + [String(rest)]
    }
}
