public import DaemonConfiguration
import FoundationEssentials
import Glibc

/// The configuration of another supervisor, as a file of the daemon's, with what couldn't be carried over.
public struct ConfigurationImport: Codable, Hashable, Sendable {
    /// The supervisors whose files are read.
    public enum Format: String, Codable, Hashable, Sendable, CaseIterable {
        /// `supervisord.conf` of Supervisor: http://supervisord.org/configuration.html
        case supervisord
        /// `circus.ini` of Circus: https://circus.readthedocs.io/en/latest/configuration/
        case circus
        /// A `Procfile` of foreman, honcho and Heroku: https://devcenter.heroku.com/articles/procfile
        case procfile
        /// `ecosystem.json` or `ecosystem.yml` of pm2: https://pm2.keymetrics.io/docs/usage/application-declaration/
        case pm2
        /// `process-compose.yaml` of process-compose: https://f1bonacc1.github.io/process-compose/configuration/
        case processCompose = "process-compose"
        /// A service or a timer of systemd: https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html
        case systemd
    }

    /// Something that the new file doesn't do as the old one did.
    public struct Note: Codable, Hashable, Sendable, CustomStringConvertible {
        /// The file.
        public var file: String
        /// The line, from 1; 0 when the note is about no line.
        public var line: Int
        /// The section or the program, and the key; empty when the note is about the whole file.
        public var subject: String
        /// What isn't as it was, and what to do about it.
        public var message: String

        /// The note as `file:line: subject: message`.
        public var description: String {
            [line == 0 ? file : "\(file):\(line)", subject, message].filter { !$0.isEmpty }.joined(separator: ": ")
        }
    }

    /// The format that was read.
    public var format: Format
    /// The daemon's file.
    public var yaml: String
    /// What the file doesn't carry over, in the order of the old one.
    public var notes: [Note]

    /// Reads a file of another supervisor.
    ///
    /// Blocks while the file is read, and those that it includes. Nothing is started or changed.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - format: the format; nil means the one that the file's name and content suggest.
    ///   - environment: the variables that the file may refer to; nil means the process's own.
    /// - Throws: the problems of a file that can't be read, or of which the daemon's file would have problems.
    public init(path: String, format: Format? = nil, environment: [String: String]? = nil) throws(ConfigurationError) {
        let source = try ImportSource(path: path, environment: environment ?? ProcessInfo.processInfo.environment, allowsPipes: true)
        guard let format = format ?? Format.suggested(by: source) else {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let isScript = ["js", "cjs", "mjs", "ts"].contains(name.split(separator: ".").last ?? "")
            throw source.failure(
                0,
                isScript
                    ? "the file is a program; expected its value as JSON: `node -p 'JSON.stringify(require(\"./\(name)\"))' > ecosystem.json`, and the import of that"
                    : "neither the file's name nor its content tells whose it is; expected --from with one of "
                        + Format.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        var imported: ImportedChildren
        switch format {
        case .supervisord: imported = try SupervisordImport(source).children()
        case .circus: imported = try CircusImport(source).children()
        case .procfile: imported = try ProcfileImport(source).children()
        case .pm2: imported = try EcosystemImport(source).children()
        case .processCompose: imported = try ComposeImport(source).children()
        case .systemd: imported = try UnitImport(source).children()
        }
        self.format = format
        let text = imported.text(of: format, source.path)
        yaml = text.text
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parse(text: yaml, file: path)
        } catch {
            throw ConfigurationError(problems: error.problems.map { text.problem($0) })
        }
        notes = imported.notes.inFileOrder
    }
}

extension ConfigurationImport.Format {
    /// Returns the format that a file's name and content suggest.
    static func suggested(by source: ImportSource) -> Self? {
        let name = source.path.split(separator: "/").last.map { $0.lowercased() } ?? ""
        if name.hasPrefix("procfile") { return .procfile }
        if name.hasSuffix(".json") { return .pm2 }
        if [".service", ".timer", ".socket"].contains(where: name.hasSuffix) { return .systemd }
        if [".yml", ".yaml"].contains(where: name.hasSuffix) {
            let keys = Set(source.text.split(separator: "\n").map { $0.prefix { $0 != ":" } })
            if keys.contains("processes") { return .processCompose }
            return keys.contains("apps") ? .pm2 : nil
        }
        let sections = Set(
            source.text.split(separator: "\n").filter { $0.hasPrefix("[") }.map { $0.prefix { $0 != ":" && $0 != "]" }.dropFirst() }
        )
        if !sections.isDisjoint(with: ["watcher", "circus"]) { return .circus }
        if !sections.isDisjoint(with: ["supervisord", "program", "fcgi-program", "supervisorctl", "group", "include"]) {
            return .supervisord
        }
        if !sections.isDisjoint(with: ["Service", "Timer"]) { return .systemd }
        return nil
    }
}

extension [ConfigurationImport.Note] {
    /// The notes without repetitions, in the order of their lines; those of one file follow each other.
    fileprivate var inFileOrder: [ConfigurationImport.Note] {
        var files: [String: Int] = [:]
        for note in self where files[note.file] == nil { files[note.file] = files.count }
        var known: Set<ConfigurationImport.Note> = []
        return filter { known.insert($0).inserted }.enumerated().sorted { left, right in
            (files[left.element.file] ?? 0, left.element.line, left.offset) < (
                files[right.element.file] ?? 0, right.element.line, right.offset
            )
        }.map(\.element)
    }
}
