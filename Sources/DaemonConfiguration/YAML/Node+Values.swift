import Yams

extension Node {
    /// The value of a plain scalar; nil for quoted and block scalars, which are texts, and for lists and mappings.
    var plain: PlainScalar? {
        guard case .scalar(let scalar) = self, scalar.style == .plain, scalar.tag.rawValue != Tag.Name.str.rawValue else { return nil }
        return PlainScalar(scalar.string)
    }

    /// The description of the node in messages, such as `the number 5`, `abc` in backquotes, or `a list`.
    var summary: String {
        switch self {
        case .mapping: return "a mapping"
        case .sequence: return "a list"
        case .alias: return "an alias"
        case .scalar(let scalar):
            switch plain {
            case .null?: return "empty"
            case .bool?: return "the truth value \(scalar.string)"
            case .integer?, .number?: return "the number \(scalar.string)"
            case .text?, nil: return scalar.string.isEmpty ? "empty" : "`\(scalar.string.prefix(60))`"
            }
        }
    }
}
