import DaemonConfiguration
import Glibc

/// The reading of a `Procfile`.
struct ProcfileImport {
    private let source: ImportSource

    init(_ source: ImportSource) { self.source = source }

    /// Returns a child for each process type, with the port that foreman gives it.
    func children() throws(ConfigurationError) -> ImportedChildren {
        var imported = ImportedChildren()
        let dotEnvironment = "\(source.directory)/.env"
        let hasVariables = access(dotEnvironment, R_OK) == 0
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
            child.program.append(("command", .words(CommandWords.shell(command))))
            // foreman's ports: 5000, 5100 and so on.
            child.program.append(("environment", .variables(["PORT": String(5_000 + 100 * imported.children.count)])))
            if hasVariables { child.program.append(("environment_files", .words([dotEnvironment]))) }
            child.program.append(("directory", .text(source.directory)))
            imported.children.append(child)
            if name == "release" {
                imported.note(
                    source.path,
                    index + 1,
                    name,
                    "a release phase runs once: write `oneshot` in the place of its `program`, and `after: [release]` of the others"
                )
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
}
