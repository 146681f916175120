/// The keys that another supervisor's file may have in one kind of section, and what becomes of each.
///
/// A key is here once: it has an effect in the daemon's file, which the importer writes, or a note that says what isn't taken over and why. A test reads the
/// keys out of the supervisor itself, or its schema, and feeds each.
package struct ForeignKeys: Sendable {
    /// The section, such as `program`.
    ///
    /// A key with a `*` at its end stands for all that begin so.
    package let section: String
    /// The keys that have an effect, and the keys of the daemon's file in which it shows.
    package let effects: [String: String]
    /// The keys that have none, and what is said of them.
    package let notes: [String: String]

    /// - Parameters:
    ///   - effects: keys, separated by spaces, and the keys of the daemon's file.
    ///   - notes: keys, separated by spaces, and what is said of them.
    init(_ section: String, effects: [(String, String)], notes: [(String, String)]) {
        self.section = section
        self.effects = Self.single(effects)
        self.notes = Self.single(notes)
    }

    private static func single(_ rows: [(String, String)]) -> [String: String] {
        var result: [String: String] = [:]
        for (keys, text) in rows {
            for key in keys.split(whereSeparator: { $0 == " " || $0 == "\n" }) { result[String(key)] = text }
        }
        return result
    }

    package enum Fate: Equatable, Sendable {
        case effect
        case note(String)
        /// The other supervisor has no such key, or one that is newer than the table.
        case unknown

        /// What is said of the key; nil: it has an effect.
        var message: String? {
            switch self {
            case .effect: nil
            case .note(let message): message
            case .unknown: "a key of this section that isn't known; not carried over"
            }
        }
    }

    /// What becomes of a key.
    package func fate(of key: String) -> Fate {
        let patterns = (Array(effects.keys) + Array(notes.keys)).filter { $0.hasSuffix("*") && key.hasPrefix($0.dropLast()) }
        for key in [key] + patterns.sorted(by: { $0.count > $1.count }) {
            if effects[key] != nil { return .effect }
            if let note = notes[key] { return .note(note) }
        }
        return .unknown
    }

    /// All tables of a format.
    package static func tables(of format: ConfigurationImport.Format) -> [ForeignKeys] {
        switch format {
        case .supervisord: supervisord
        case .circus: circus
        case .procfile: procfile
        case .pm2: pm2
        case .processCompose: processCompose
        case .systemd: systemd
        }
    }

    static func table(_ section: String, of format: ConfigurationImport.Format) -> ForeignKeys? {
        tables(of: format).first { $0.section == section }
    }
}
