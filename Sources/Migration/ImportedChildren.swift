import DaemonConfiguration

/// The children that a file of another supervisor describes, while it's read.
struct ImportedChildren {
    /// One program.
    struct Child {
        var key: String
        /// The place in the other file.
        var file = ""
        var line = 0
        var command: [String] = []
        var environment: [String: String] = [:]
        /// What a shell does with the descriptors of the program, such as `0<&3`.
        var redirection: String?
        /// The kind of the child, as which its command is written.
        var kind = "program"
        /// The keys of the child beside `key`, in order.
        private(set) var settings: [(String, ImportedValue)] = []
        /// The keys of its program, in order.
        private(set) var program: [(String, ImportedValue)] = []
        private(set) var logging: [(String, ImportedValue)] = []
        private(set) var hooks: [(String, ImportedValue)] = []
        /// The rank among the others: lower ones come first.
        var rank = 0
        /// Whether the other file says the rank, so that the child waits for those before it.
        var isRanked = false
        /// The siblings for which it waits, and in which state they have to be; nil: any.
        var after: [(name: String, state: String?, isRequired: Bool)] = []

        init(key: String) { self.key = ImportedChildren.key(key) }

        /// Sets a key of the child, where the daemon's file has such a key.
        ///
        /// A later value replaces one before it.
        @discardableResult
        mutating func put(_ key: String, _ value: ImportedValue, taking word: String? = nil) -> Bool {
            set(key, value, in: \.settings, of: "child", taking: word)
        }

        /// Sets a key of the program, where the daemon's file has such a key.
        @discardableResult
        mutating func give(_ key: String, _ value: ImportedValue, taking word: String? = nil) -> Bool {
            set(key, value, in: \.program, of: kind, taking: word)
        }

        /// Sets a key of the child's `logging`, where the daemon's file has such a key.
        @discardableResult
        mutating func log(_ key: String, _ value: ImportedValue, taking word: String? = nil) -> Bool {
            set(key, value, in: \.logging, of: "logging", taking: word)
        }

        /// Sets the signal that asks the program to stop.
        ///
        /// - Returns: what there is to note: no program is stopped by it here; nil: nothing.
        mutating func stop(by signal: String) -> String? {
            if ["TERM", "SIGTERM", "15"].contains(signal.uppercased()) { return nil }
            guard let name = SignalName.read(signal) else { return "no program is stopped by \(signal) here; it's TERM" }
            give("stop_signal", .word(name))
            return nil
        }

        /// Sets a command that is run at a certain moment, where the daemon's file has such commands.
        @discardableResult
        mutating func hook(_ moment: String, _ value: ImportedValue) -> Bool {
            KnownKeys.has("hooks", in: kind) && set(moment, value, in: \.hooks, of: "hooks")
        }

        /// Takes back a key of the program.
        mutating func forget(_ key: String) { program.removeAll { $0.0 == key } }

        /// Makes the child one that runs to its end, for which others wait.
        ///
        /// - Parameter retries: whether it's run again after a failure.
        mutating func becomeOneshot(retries: Bool) {
            kind = "oneshot"
            program.removeAll { !KnownKeys.has($0.0, in: "oneshot") }
            settings.removeAll { $0.0 == "restart" }
            if !KnownKeys.has("hooks", in: "oneshot") { hooks = [] }
            if retries { put("restart", .word("on_failure")) } else { settings.removeAll { $0.0 == "restart_limits" } }
        }

        private mutating func set(
            _ key: String,
            _ value: ImportedValue,
            in list: WritableKeyPath<Self, [(String, ImportedValue)]>,
            of table: String,
            taking word: String? = nil
        ) -> Bool {
            guard KnownKeys.has(key, in: table, taking: word) else { return false }
            if let index = self[keyPath: list].firstIndex(where: { $0.0 == key }) {
                self[keyPath: list][index].1 = value
            } else {
                self[keyPath: list].append((key, value))
            }
            return true
        }

        /// Limits how often a start may fail, and says the wait before the next one.
        ///
        /// - Parameters:
        ///   - count: the number of failed starts after which the child is given up; nil: never.
        ///   - first: the wait after the first one, in milliseconds; nil: none.
        ///   - delay: the wait after each, in milliseconds; nil: one that grows.
        ///   - start: the time in which a start may fail, in milliseconds.
        ///   - counts: the restarts that count, where not each failure does.
        mutating func limit(_ count: Int?, first: Int? = nil, delay: Int? = nil, start: Int = 1_000, counts: String? = nil) {
            let most = count.map { String(max(0, min($0, 1_000_000))) } ?? "unlimited"
            var limits: [(String, ImportedValue)] = [("max_restarts", .word(most))]
            let longest = delay ?? 30_000
            if let delay {
                if KnownKeys.has("delay", in: "restart_limits") {
                    limits.append(("delay", .time(delay)))
                } else {
                    limits.append(("backoff", .mapping([("minimum", .time(max(1, delay))), ("maximum", .time(max(1, delay)))])))
                }
            } else if let first, KnownKeys.has("first_delay", in: "restart_limits") {
                limits.append(("first_delay", .time(first)))
            }
            if count != nil, let counts, KnownKeys.has("counts", in: "restart_limits", taking: counts) {
                limits.append(("counts", .word(counts)))
            }
            // The failures of one row, however long the waits between them are.
            if let count { limits.append(("period", .word("\(max(1, min((count + 1) * (start + longest) / 1_000 + 1, 86_400 * 365)))s"))) }
            put("restart_limits", .mapping(limits))
        }

        /// The child's lines.
        func lines(at indentation: String) -> [String] {
            let resolved = LateText.resolved(command, environment, redirection: redirection)
            var program: [(String, ImportedValue)] = [("command", .words(resolved.command))]
            if !resolved.variables.isEmpty { program.append(("environment", .variables(resolved.variables))) }
            program += self.program
            if !hooks.isEmpty { program.append(("hooks", .mapping(hooks))) }
            var settings = settings
            if !logging.isEmpty { settings.append(("logging", .mapping(logging))) }
            for (key, isRequired) in [("after", false), ("requires", true)] {
                let names = after.filter { $0.isRequired == isRequired }
                if names.isEmpty { continue }
                let hasStates = names.contains { $0.state != nil }
                let value: ImportedValue =
                    hasStates
                    ? .mapping(names.map { ($0.name, .word($0.state ?? "ready")) }) : .list(names.map { .text($0.name) })
                settings.append((key, value))
            }
            if settings.contains(where: { $0.0 == "instances" }) {
                program = program.map { ($0, $1.withoutInstance) }
                settings = settings.map { ["after", "requires"].contains($0) ? ($0, $1) : ($0, $1.withoutInstance) }
            }
            return ["\(indentation)- name: \(ImportedValue.text(key).yaml)", "\(indentation)  \(kind):"]
                + program.map { "\(indentation)    \($0): \($1.yaml)" } + settings.map { "\(indentation)  \($0): \($1.yaml)" }
        }
    }

    /// Programs under one name.
    struct Group {
        var key: String
        var rank: Int
        var isRanked: Bool
        var children: [Child] = []
    }

    /// The programs that are children of the root.
    var children: [Child] = []
    /// The programs that are children of groups.
    var groups: [Group] = []
    var notes: [ConfigurationImport.Note] = []

    mutating func note(_ file: String, _ line: Int, _ subject: String, _ message: String) {
        notes.append(ConfigurationImport.Note(file: file, line: line, subject: subject, message: message))
    }

    /// Reads a number with which something is computed: one beyond a million, or below minus a million, is that bound; `nil`: the text is none.
    static func number(_ text: String?) -> Int? { text.flatMap { Int($0) }.map { min(max($0, -1_000_000), 1_000_000) } }

    /// Makes a name a key: slashes and control characters can't be in a path's part, which has at most 255 bytes.
    static func key(_ name: String) -> String {
        let kept = String(
            name.unicodeScalars.map { scalar -> Character in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: "-"
                default: scalar == "/" || scalar.properties.isBidiControl ? "-" : Character(scalar)
                }
            }
        )
        return kept.isEmpty || kept == "." || kept == ".." ? "program" : kept
    }

    // MARK: The file

    /// One sibling: a program, or a group.
    private struct Sibling {
        var key: String
        let rank: Int
        let isRanked: Bool
        /// Whether the child has dependencies of its own.
        let waits: Bool
        var places: [(file: String, line: Int)]
        var lines: [String]
    }

    /// The daemon's file, and the place in the other file of each of its lines.
    struct Text {
        var text: String
        var places: [(file: String, line: Int)]

        /// A problem of the daemon's file, at the place in the other file that it comes from.
        func problem(_ problem: ConfigurationError.Problem) -> ConfigurationError.Problem {
            guard places.indices.contains(problem.line - 1) else { return problem }
            let place = places[problem.line - 1]
            return .init(
                file: place.file,
                line: place.line,
                column: place.line == 0 ? 0 : 1,
                message: "the daemon's file that comes of it has a problem: \(problem.message)"
            )
        }
    }

    /// Returns the daemon's file, with a note for each name that had to become another one.
    mutating func text(of format: ConfigurationImport.Format, _ path: String) -> Text {
        var lines = ["# Imported from \(path.filter { !$0.isNewline }) (\(format.rawValue))."]
        guard !children.isEmpty || groups.contains(where: { !$0.children.isEmpty }) else {
            return Text(text: (lines + ["children: []"]).joined(separator: "\n") + "\n", places: [])
        }
        lines.append("children:")
        var names: Set<String> = []
        for index in groups.indices { groups[index].key = unique(groups[index].key, &names, path, 0) }
        for index in children.indices {
            children[index].key = unique(children[index].key, &names, children[index].file, children[index].line)
        }
        for index in groups.indices {
            var inner: Set<String> = []
            for child in groups[index].children.indices {
                let place = groups[index].children[child]
                groups[index].children[child].key = unique(place.key, &inner, place.file, place.line)
            }
        }
        var siblings = children.map { Self.sibling($0, at: "  ") }
        for group in groups where !group.children.isEmpty {
            let inner = Self.ordered(group.children.map { Self.sibling($0, at: "      ") }, at: "      ")
            let first = inner.places[0]
            siblings.append(
                Sibling(
                    key: group.key,
                    rank: group.rank,
                    isRanked: group.isRanked,
                    waits: false,
                    places: [first, first] + inner.places,
                    lines: ["  - name: \(ImportedValue.text(group.key).yaml)", "    children:"] + inner.lines
                )
            )
        }
        let rest = Self.ordered(siblings, at: "  ")
        return Text(text: (lines + rest.lines).joined(separator: "\n") + "\n", places: [(path, 0), (path, 0)] + rest.places)
    }

    /// Gives siblings the order of their ranks.
    ///
    /// Where the other file says ranks, each waits for those of the rank before, and stops before them.
    private static func ordered(_ siblings: [Sibling], at indentation: String) -> (lines: [String], places: [(file: String, line: Int)]) {
        let sorted = siblings.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(\.element)
        var (lines, places): ([String], [(file: String, line: Int)]) = ([], [])
        for sibling in sorted {
            lines += sibling.lines
            places += sibling.places
            guard !sibling.waits, sorted.contains(where: \.isRanked), let rank = sorted.map(\.rank).filter({ $0 < sibling.rank }).max()
            else { continue }
            let before = sorted.filter { $0.rank == rank }.map { ImportedValue.text($0.key) }
            lines.append("\(indentation)  after: \(ImportedValue.list(before).yaml)")
            places.append(sibling.places[0])
        }
        return (lines, places)
    }

    private static func sibling(_ child: Child, at indentation: String) -> Sibling {
        let lines = child.lines(at: indentation)
        return Sibling(
            key: child.key,
            rank: child.rank,
            isRanked: child.isRanked,
            waits: !child.after.isEmpty,
            places: lines.map { _ in (child.file, child.line) },
            lines: lines
        )
    }

    private mutating func unique(_ name: String, _ names: inout Set<String>, _ file: String, _ line: Int) -> String {
        if names.insert(name).inserted { return name }
        var number = 2
        while !names.insert("\(name)-\(number)").inserted { number += 1 }
        note(file, line, name, "another child has this name; this one is called \(name)-\(number)")
        return "\(name)-\(number)"
    }
}
