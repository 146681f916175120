import Processes
import WireProtocol

/// What the daemon's file can say, for those who write one.
package enum KnownKeys {
    /// The tables by the name of their mapping.
    private static let tables = Dictionary(Keys.tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// Whether a mapping, such as `child`, `program` or `logging`, has a key.
    ///
    /// - Parameter word: a value that the key has to take too.
    package static func has(_ key: String, in table: String, taking word: String? = nil) -> Bool {
        guard let row = tables[table]?.rows.first(where: { $0.key.name == key }) else { return false }
        return word.map { mentions($0, row.key.schema) } ?? true
    }

    /// Whether each instance of a child knows its number: by `{instance}` in its texts, and by a variable.
    package static let numbersInstances: Bool = {
        let text = "children: [{ name: a, instances: 1, program: { command: [\"{instance}\"] } }]"
        guard let configuration = try? DaemonConfiguration.parse(text: text, file: "") else { return false }
        guard case .program(let program)? = configuration.children.withInstances.first?.content else { return false }
        return program.command == ["1"]
    }()

    private static func mentions(_ word: String, _ schema: JSONValue) -> Bool {
        switch schema {
        case .string(let text): text == word
        case .array(let elements): elements.contains { mentions(word, $0) }
        case .object(let members): members.contains { $0.key == word || mentions(word, $0.value) }
        case .null, .bool, .integer, .number: false
        }
    }
}

extension DaemonConfiguration {
    /// Reads YAML that isn't the daemon's own.
    ///
    /// - Throws: a problem when the text isn't one YAML document.
    package static func tree(text: String, file: String) throws(ConfigurationError) -> YAMLNode? {
        try YAMLComposer.compose(text, file: file)
    }

    /// Returns the names of the variables that a file of `environment_files` sets; nil: it can't be read.
    ///
    /// Blocks while the file is read.
    package static func variables(inFile path: String) -> Set<String>? {
        (try? EnvironmentFile.load([path])).map { Set($0.keys) }
    }
}
