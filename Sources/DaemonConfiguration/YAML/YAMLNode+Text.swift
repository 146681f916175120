extension YAMLNode {
    /// The value as YAML in one line, in which each scalar is as plain, or as much a text, as it was.
    var flowText: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch content {
        case .scalar(let scalar, _):
            switch plain {
            case .bool?, .integer?, .number?: text += scalar
            case .null?: text += "null"
            case .text?, nil: text += Self.quoted(scalar)
            }
        case .sequence(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                element.write(to: &text)
            }
            text += "]"
        case .mapping(let pairs):
            text += "{"
            for (index, pair) in pairs.enumerated() {
                if index > 0 { text += ", " }
                pair.key.write(to: &text)
                text += ": "
                pair.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// Returns a text in double quotes, with escapes for all that isn't in YAML's set of printable characters.
    private static func quoted(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar -> String in
            switch scalar.value {
            case 0x22, 0x5C: return "\\\(scalar)"
            case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF: return String(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            }
        }
        return "\"\(characters.joined())\""
    }
}
