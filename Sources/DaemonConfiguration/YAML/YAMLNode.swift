/// A value of a YAML file, and its place.
package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        /// A text; a plain one is neither in quotes nor a block.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        /// The pairs in the order of the file; no two keys are the same text.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    package let content: Content
    /// The tag that the file gives, with its handle replaced, such as `tag:yaml.org,2002:str` for `!!str`.
    let tag: String?
    package let mark: Mark
    /// The number of levels of lists and mappings, which is 0 for a scalar.
    let depth: Int

    init(_ content: Content, tag: String?, mark: Mark) {
        self.content = content
        self.tag = tag
        self.mark = mark
        depth =
            switch content {
            case .scalar: 0
            case .sequence(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
            case .mapping(let pairs): 1 + pairs.reduce(0) { max($0, $1.key.depth, $1.value.depth) }
            }
    }

    /// The text of a scalar as it's written; nil for lists and mappings.
    package var text: String? {
        if case .scalar(let text, _) = content { text } else { nil }
    }

    /// The elements of a list; nil for anything else.
    package var elements: [YAMLNode]? {
        if case .sequence(let elements) = content { elements } else { nil }
    }

    /// The value of a mapping's key.
    package subscript(key: String) -> YAMLNode? {
        guard case .mapping(let pairs) = content else { return nil }
        return pairs.first { $0.key.text == key }?.value
    }

    /// The value of a plain scalar; nil for quoted and block scalars, which are texts, and for lists and mappings.
    var plain: PlainScalar? {
        guard case .scalar(let text, isPlain: true) = content, tag != "tag:yaml.org,2002:str" else { return nil }
        return PlainScalar(text)
    }

    /// The description of the node in messages, such as `the number 5`, `abc` in backquotes, or `a list`.
    var summary: String {
        switch content {
        case .mapping: return "a mapping"
        case .sequence: return "a list"
        case .scalar(let text, _):
            switch plain {
            case .null?: return "empty"
            case .bool?: return "the truth value \(text)"
            case .integer?, .number?: return "the number \(text)"
            case .text?, nil: return text.isEmpty ? "empty" : "`\(text.prefix(60))`"
            }
        }
    }
}
