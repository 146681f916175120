import DaemonConfiguration
import WireProtocol

extension ImportSource {
    /// The file as YAML; nil: it's empty.
    func tree() throws(ConfigurationError) -> YAMLNode? { try DaemonConfiguration.tree(text: text, file: path) }
}

extension YAMLNode {
    /// The value, with scalars as JSON's where they are plain.
    var json: JSONValue {
        switch content {
        case .scalar(let text, let isPlain):
            switch text {
            case "true" where isPlain: .bool(true)
            case "false" where isPlain: .bool(false)
            case "null" where isPlain, "~" where isPlain, "" where isPlain: .null
            default: isPlain ? Int64(text).map { .integer($0) } ?? .string(text) : .string(text)
            }
        case .sequence(let nodes): .array(nodes.map(\.json))
        case .mapping(let pairs):
            .object(Dictionary(pairs.compactMap { pair in pair.key.text.map { ($0, pair.value.json) } }, uniquingKeysWith: { $1 }))
        }
    }

    /// The pairs of a mapping; none for anything else.
    var pairs: [(key: String, keyLine: Int, value: YAMLNode)] {
        guard case .mapping(let pairs) = content else { return [] }
        return pairs.compactMap { pair in pair.key.text.map { ($0, pair.key.mark.line, pair.value) } }
    }
}
