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
        /// `ecosystem.json` of pm2: https://pm2.keymetrics.io/docs/usage/application-declaration/
        case pm2
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
    /// - Throws: the problems of a file that can't be read.
    public init(path: String, format: Format? = nil, environment: [String: String]? = nil) throws(ConfigurationError) {
        let source = try ImportSource(path: path, environment: environment ?? ProcessInfo.processInfo.environment, allowsPipes: true)
        guard let format = format ?? Format.suggested(by: source) else {
            throw ConfigurationError(
                problems: [
                    .init(
                        file: path,
                        line: 0,
                        column: 0,
                        message: "neither the file's name nor its content tells whose it is; expected --from with one of "
                            + Format.allCases.map(\.rawValue).joined(separator: ", ")
                    )
                ]
            )
        }
        var imported: ImportedChildren
        switch format {
        case .supervisord: imported = try SupervisordImport(source).children()
        case .circus: imported = try CircusImport(source).children()
        case .procfile: imported = try ProcfileImport(source).children()
        case .pm2: imported = try EcosystemImport(source).children()
        }
        self.format = format
        yaml = imported.text(of: format, source.path)
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parse(text: yaml, file: path)
        } catch {
            for problem in error.problems {
                imported.notes.append(Note(file: path, line: 0, subject: "the result", message: problem.message))
            }
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
        let sections = Set(
            source.text.split(separator: "\n").filter { $0.hasPrefix("[") }.map { $0.prefix { $0 != ":" && $0 != "]" }.dropFirst() }
        )
        if !sections.isDisjoint(with: ["watcher", "circus"]) { return .circus }
        if !sections.isDisjoint(with: ["supervisord", "program", "supervisorctl", "group"]) { return .supervisord }
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
