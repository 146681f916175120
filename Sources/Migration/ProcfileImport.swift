import DaemonConfiguration
import Glibc

extension ForeignKeys {
    /// The keys of Procfiles.
    ///
    /// https://devcenter.heroku.com/articles/procfile, https://honcho.readthedocs.io/en/latest/using_procfiles.html
    static let procfile: [ForeignKeys] = [
        ForeignKeys("process", effects: [("command", "command")], notes: []),
        ForeignKeys(".env", effects: [("PORT", "environment"), ("*", "environment_files")], notes: []),
    ]
}

/// The reading of a `Procfile`.
struct ProcfileImport {
    private let source: ImportSource

    init(_ source: ImportSource) { self.source = source }

    /// Returns a child for each process type, with the port that foreman gives it.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var imported = ImportedChildren()
        let dotEnvironment = "\(source.directory)/.env"
        let variables = access(dotEnvironment, R_OK) == 0 ? try ImportSource(path: dotEnvironment, environment: [:]).text : nil
        let firstPort = Self.port(in: variables ?? "") ?? 5_000
        for (index, line) in source.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = SectionedFile.trimmed(line)
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard let colon = text.firstIndex(of: ":"), text[..<colon].allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" })
            else {
                throw source.failure(index + 1, "`\(text.prefix(40))` isn't a process; expected `name: command`")
            }
            let name = String(text[..<colon])
            let command = SectionedFile.trimmed(text[text.index(after: colon)...])
            guard !command.isEmpty, !name.isEmpty else {
                throw source.failure(index + 1, "a process without a name or a command; expected `name: command`")
            }
            var child = ImportedChildren.Child(key: name)
            (child.file, child.line) = (source.path, index + 1)
            child.command = CommandWords.shell(command)
            // The ports of foreman: 100 more for each process, from 5000 or the PORT of .env on.
            child.environment = ["PORT": String(firstPort + 100 * imported.children.count)]
            if variables != nil { child.give("environment_files", .words([dotEnvironment])) }
            child.give("directory", .text(source.directory))
            child.give("stdin", .word("open"), taking: "open")
            // The signal goes to all processes that a command has started.
            child.give("stop_group", .word("true"))
            if name == "release" {
                imported.note(
                    source.path,
                    index + 1,
                    name,
                    KnownKeys.has("oneshot", in: "child")
                        ? "a release phase runs once, and the others wait for its end"
                        : "a release phase runs once: set `restart: never`; the others don't wait for its end"
                )
                if KnownKeys.has("oneshot", in: "child") { child.becomeOneshot(retries: false) }
            }
            imported.children.append(child)
        }
        if imported.children.contains(where: { $0.key == "release" }), KnownKeys.has("requires", in: "child", taking: "completed") {
            for index in imported.children.indices where imported.children[index].key != "release" {
                imported.children[index].after = [("release", "completed", true)]
            }
        }
        if !imported.children.isEmpty {
            imported.note(
                source.path,
                0,
                "",
                "a process that ends is restarted alone, where foreman ends all; set `restart` to change that"
            )
            imported.note(
                source.path,
                0,
                "",
                "each process has the PORT that foreman gives its first instance; set it anew for `instances`"
            )
        }
        return imported
    }

    /// The port of a file of variables.
    private static func port(in variables: String) -> Int? {
        let lines = variables.split(whereSeparator: \.isNewline).map { SectionedFile.trimmed($0) }
        return lines.last { $0.hasPrefix("PORT=") }.flatMap { line in
            Int(SectionedFile.trimmed(line.dropFirst(5)).filter { $0 != "\"" && $0 != "'" }).flatMap {
                (1...65_535).contains($0) ? $0 : nil
            }
        }
    }
}
